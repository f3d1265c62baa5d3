// Package cluster connects to a cluster with the flags and the kubeconfig of kubectl, and finds, decodes and watches
// components there.
//
// The package sends all requests of the command line except for the dry runs of plan and diff. It returns errors of
// package exit if the kubeconfig or names in arguments are wrong. It returns errors of the API server unchanged.
//
// An argument becomes a Reference, a Reference becomes a Target when the cluster serves its type, and a Target becomes
// an Object when the object was read.
package cluster
