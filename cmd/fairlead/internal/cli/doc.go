// Package cli implements the commands of the program fairlead: their flags, arguments, help texts, and the exit code of
// each error. Each command has its own file.
//
// A command checks its flags and calls the package that does the work: publish (apply), preview (plan, diff), wait
// (--wait), explain (why), events, logs, rbac, render, notes, bundle (export) and scaffold. Package show prints
// results, package cluster connects to the cluster, and package exit classifies errors. None of these packages imports
// cobra.
package cli
