// Package status derives the status of a component from the outcome of a pass.
//
// It is pure: a status goes in, a status comes out, and the time is an argument. It is the only package that makes
// conditions, counts and the history. It also words the event and the log line of a pass. The conditions Ready,
// Reconciling and Stalled follow kstatus: Reconciling and Stalled are present only while they are true.
//
// It imports packages outcome, condition, plan and the API types, and no client.
package status
