// Package ready computes the readiness of a dependent from the object alone.
//
// Of follows kstatus, with exceptions for types that kstatus does not cover, and with the hints that the author of a
// manifest gave in an annotation. A condition of an older generation never counts.
//
// The package is pure. It imports kstatus and apimachinery alone. The rule that it enforces: an object is Ready only if
// its status shows that it reached its current spec.
package ready
