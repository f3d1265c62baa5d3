// Package rights holds the advice for requests that the API server refuses because the user lacks a right.
//
// It decides nothing: whether a right is missing says plan.CauseMissingRight of a failure, or apitext.MissingRight of
// an error. It imports apitext alone.
package rights
