// Package status derives the status of a component from the outcome of a pass.
//
// The package is pure: its functions take a status and return a status, and the time is an argument. Only this package
// writes conditions, counts and the history. The package also returns the Event and the log line of a pass. The
// conditions Ready, Reconciling and Stalled follow kstatus: Reconciling and Stalled are present only while they are
// true.
package status
