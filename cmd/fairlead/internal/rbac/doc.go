// Package rbac derives the RBAC roles that a component needs: those of the service account that the component acts as,
// and what the operator must be granted to watch in addition.
//
// The rules follow from the requests that the engine makes about each dependent. This package computes them from
// rendered objects and policies; it sends no requests to check what an account may do.
package rbac
