// Package program contains the common code of the programs in test: they prepare a cluster, run the operator, and end
// in the same way.
//
// No program leaves a process behind: a signal, the end of the parent process and an error all end the context, and the
// exit code says which it was (ExitCode).
package program
