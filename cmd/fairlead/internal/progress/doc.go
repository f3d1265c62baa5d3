// Package progress turns the status of a component into a report for a person who waits, and shows reports.
//
// The functions that make reports are pure. Their inputs are a status and the generation that the person waits for. As
// long as the status is of an older generation, the result is Waiting.
package progress
