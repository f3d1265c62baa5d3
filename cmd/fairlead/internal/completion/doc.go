// Package completion completes arguments and flags in a shell. It reads the names of components, types, workloads and
// containers from the cluster, and also completes folders and fixed values of flags.
//
// A shell shows no errors and must not wait. If a request fails or takes longer than three seconds, there are no
// completions.
package completion
