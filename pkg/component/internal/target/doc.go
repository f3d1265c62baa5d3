// Package target finds out where the dependents of a component are, and as which identity they are written.
//
// A Connection is one cluster: its HTTP client, discovery, watches, and the bound on concurrent writes. All identities
// and all components share it. A Client is a Connection as one identity. A Resolver acquires the Target of a component:
// the cluster of its kubeconfig, as the user in the kubeconfig, or the component's own cluster, as the identity that
// the component declares. Remotes shares the connections to other clusters by the content of their kubeconfigs, and
// closes each with its last user.
//
// Dependents, references and look-ups are read and written as the identity of the component. Reads that protect the
// objects of others are made as the operator, because they must not depend on the rights of the component.
//
// It imports packages observe, execute, discovery, transport and condition, and no package above them.
package target
