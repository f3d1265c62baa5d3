// Package cluster runs a Kubernetes cluster on this machine: etcd, an API server, controller manager, scheduler and
// fake nodes. Each component is a separate process and listens only on the loopback address. The cluster is for
// development and tests; its data is deleted at the end.
package cluster
