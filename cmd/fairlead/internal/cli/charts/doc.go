// Package charts contains the commands about what a chart contains besides objects: notes and test. They render the
// chart of a component again, with the rights of the person.
package charts
