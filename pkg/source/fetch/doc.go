// Package fetch gets sources from outside the cluster: archives by HTTP, each pinned to a digest.
package fetch
