//go:build long

package main

const (
	// rivals is the number of hostile components, and of good ones beside them.
	rivals = 200
	// timed compares the time of the good components with their time alone.
	timed = true
)
