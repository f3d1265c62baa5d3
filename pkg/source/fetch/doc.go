// Package fetch fetches sources from outside the cluster: archives by HTTP, each identified by its digest. Only an
// archive with the specified digest is returned.
package fetch
