// Package explain determines the origin of an object in a cluster, or of a field: the dependent and the component to
// which the object belongs, the file of the source, the values, and the field managers.
//
// The package reads with the rights of the person who runs the command, and writes nothing. If a related object cannot
// be read, the result is still returned, with a list of the unknown facts and the reasons.
package explain
