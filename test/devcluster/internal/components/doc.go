// Package components links the server programs of a cluster into one binary. The first word of its command line selects
// the program that a process runs.
package components
