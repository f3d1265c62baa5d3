// Package versus compares the speed of an engine with that of the libraries that it uses, in one run on the same input.
//
// The ratio is what counts, because it depends less on the machine than a time. Only benchmarks use the package.
package versus
