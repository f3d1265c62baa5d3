// Package input reads what a rendering is made from: parameters, referenced Secrets and ConfigMaps, and a source.
//
// A Reader reduces the inputs to one digest, which alone raises the revision of a component. References are watched
// by name; their data is read only after a change, or when something is rendered. A source is an input by its digest;
// it is fetched off the workers when something is rendered, and the component is woken when it has arrived.
//
// Everything is read as the identity of the component. The package imports target, observe, condition and the types of
// pkg/generator, and no package above.
package input
