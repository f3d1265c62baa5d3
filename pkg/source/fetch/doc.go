// Package fetch fetches sources from outside the cluster: archives by HTTP, each identified by its digest. It imports
// pkg/source and the API types of components; only an archive with the specified digest is returned.
package fetch
