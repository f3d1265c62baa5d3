// Package ownership finds the dependent of a component to which an object belongs. This is the object itself, or the
// object for which controllers of Kubernetes created it, such as the Deployment of a Pod.
//
// The package follows only controller references. It reads only metadata, and only objects of built-in types that
// controllers create, such as Pods. For a component it also says who writes it besides people, from its metadata alone.
package ownership
