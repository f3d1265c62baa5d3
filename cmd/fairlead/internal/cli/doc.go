// Package cli holds the commands of the command line fairlead: flags, arguments, help, and the exit code of each error.
// There is a file for each command.
//
// A command checks its flags and calls the package that does its work: publish (apply), preview (plan, diff), wait
// (--wait), explain (why), events, logs, rbac, render, notes, bundle (export), scaffold, and show, which prints. These
// packages import neither cobra nor each other's commands; package cluster connects, and package exit classifies
// errors.
package cli
