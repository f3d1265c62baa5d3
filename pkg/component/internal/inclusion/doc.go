// Package inclusion evaluates the conditions that decide which objects of a rendered set are applied: include-when and
// active-when. It runs before the planning, so that plans never evaluate expressions. While the values that conditions
// read are not available, it repeats the decisions that the inventory shows.
//
// The package is pure. A condition without a value neither includes nor excludes an object: the object stays as it is.
package inclusion
