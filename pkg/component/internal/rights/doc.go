// Package rights returns advice for users about requests that the API server refuses because a right is missing.
//
// The caller has to know that a right is missing: a failure has the cause plan.CauseMissingRight, and
// apitext.MissingRight checks an error.
package rights
