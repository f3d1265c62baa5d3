//go:build !long

package main

// rivals is the number of hostile components, and of good ones beside them.
const rivals = 20
