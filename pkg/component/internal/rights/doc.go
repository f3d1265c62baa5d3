// Package rights holds the advice for requests that the API server refuses because the user lacks a right.
//
// It does not decide whether a right is missing: plan.CauseMissingRight decides that for a failure, and
// apitext.MissingRight for an error. It imports apitext alone.
package rights
