//go:build !long

package main

// rivals is the number of hostile components, and of good ones beside them.
const rivals = 20

// measured is set if the times of the good components are compared, which a few components are too quick for.
const measured = false
