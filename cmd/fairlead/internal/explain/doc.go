// Package explain finds where an object in a cluster, or one of its fields, comes from: the dependent and the component
// that it belongs to, the file of the source, the values, and the field managers.
//
// It reads with the rights of the person who asks, and it writes nothing. An object that cannot be read ends the
// explanation only if nothing can be said without it; otherwise the result lists what is unknown, and why.
package explain
