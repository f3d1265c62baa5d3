// Package binding fills the holes of objects with the values that other objects of the set export.
//
// Check finds contradictions in a set before it is applied: names that two objects export, holes without an export, and
// values of Secrets that would leave Secrets. Bindings.Bind fills the holes of one object, and gives it a digest that
// covers the values. CheckPublished checks the exports that a component publishes in its status.
//
// A value of a Secret is bound into the data of Secrets only, and no error contains one. The package is pure: it gets
// values, and does not know where they come from.
package binding
