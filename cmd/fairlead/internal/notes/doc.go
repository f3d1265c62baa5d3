// Package notes renders the notes of a component (NOTES.txt of a chart). It also builds the request with which the
// commands notes, why and rbac render a component in the same way as its operator.
//
// The package reads with the rights of the client that it gets, and writes nothing.
package notes
