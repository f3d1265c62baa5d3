// Package ownership finds the dependent of a component that an object belongs to: the object itself, or the object that
// the controllers of Kubernetes made it for, such as the Deployment of a Pod.
//
// It follows controller references only, reads metadata only, and only of the built-in types that have such references.
package ownership
