// Package charts has the commands about what a chart has besides objects: notes and test. They render the chart of a
// component again, with the rights of the person.
package charts
