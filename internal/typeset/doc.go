// Package typeset knows the types of a set of dependents: which types an object of the set defines, which types belong
// to a set, and in which stage of its wave an object of a type is applied.
//
// The table of stages is in stages.go. An object whose type is defined by the set is in the last stage, whatever the
// table says. The package is pure.
package typeset
