// Package fuzzing runs fuzz targets within bounds. Go's fuzzing reports panics. With this package, an input also fails
// if it overflows a stack of 64 MiB, takes more than a minute, or needs more than 1 GiB of memory. "make fuzz" runs the
// targets.
package fuzzing
