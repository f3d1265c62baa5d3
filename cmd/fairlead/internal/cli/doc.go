// Package cli assembles the program fairlead from its commands: the root command, the groups, examples and layout of
// the help, the exit code of each error, and the commands about the program itself: version, options, and the topics
// exit-codes and output.
//
// The other commands are in the packages below, a family in each: apply (apply, plan, diff), deletion (delete),
// lifecycle (suspend, resume, reconcile), rendered (render, rbac), inspection (list, status, tree, why, history,
// events, logs, export), charts (notes, test), external and project (scaffold). Package command contains what they
// share. A command checks its flags and calls the package that does the work, such as publish, wait, explain or bundle,
// and package show prints the result.
package cli
