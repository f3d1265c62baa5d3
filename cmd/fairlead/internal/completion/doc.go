// Package completion completes command lines in a shell: names of components, types, workloads and containers, which it
// reads from the cluster, folders, and values of flags.
//
// A shell shows no errors and must not wait, so a question that fails or takes longer than three seconds has no
// answers.
package completion
