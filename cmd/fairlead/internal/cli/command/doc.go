// Package command contains what several commands of the program share: the console, the access to clusters,
// descriptions of arguments, and flags.
//
// Base is the value that each command is built from. A command takes from it only what it needs. Like the commands of
// kubectl, a command is a struct of options with its flags, a check of them that needs no cluster, and a method that
// does the work.
//
// The package knows no command. Commands of one package do not call those of another one.
package command
