// Package cli implements the command line of the dev cluster.
package cli
