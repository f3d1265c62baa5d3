// Package ready computes the readiness of a dependent from the content of the live object.
//
// The function Of follows the rules of kstatus, with exceptions for some types. The author of a manifest can give
// additional hints in an annotation. A condition of an older generation is ignored.
//
// The package is pure. An object is Ready only if its status shows that the object has reached its current spec.
package ready
