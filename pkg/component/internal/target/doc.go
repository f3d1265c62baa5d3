// Package target determines the cluster of a component's dependents, and the identity that writes them.
//
// A Connection is a connection to one cluster: its HTTP client, discovery, watches, and the bound on concurrent writes.
// All identities and all components share it. A Client sends requests over a Connection with one identity. A Resolver
// acquires the Target of a component: the cluster of its kubeconfig, with the user in the kubeconfig, or the
// component's own cluster, with the identity that the component declares. Remotes shares the connections to other
// clusters by the content of their kubeconfigs, identifies these clusters outside the workers of the controller, and
// closes a connection when no component uses it any more. Turns limits the passes over components with a kubeconfig.
//
// Turns shares slots among namespaces by their number, and takes no slot away, because a pass has effects and must run
// to its end. It is not the line of package isolate, which shares child processes by time and stops renderings, because
// these have no effects and can be repeated.
//
// Dependents, references and look-ups are read and written with the identity of the component. Reads that protect
// foreign objects use the identity of the watches, because they must not depend on the rights of the component.
package target
