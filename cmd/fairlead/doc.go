// Fairlead is a command line program that applies folders as components, and shows and deletes components. If it is on
// the PATH under the name kubectl-fairlead, it is a plugin of kubectl.
//
// Package main turns the first signal into the end of the context, silences the logs of libraries, and calls package
// cli. Everything else is in the packages below internal.
package main
