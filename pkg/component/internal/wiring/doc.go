// Package wiring holds the parameters by which packages engine and preview, which stand above package component, get
// what a reconciler is made of.
//
// Authors see the methods that take these parameters, and cannot call them, because the package is internal. The
// package holds data only.
package wiring
