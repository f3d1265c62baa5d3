// Package marks contains the labels and annotations that the engine writes on objects, and reads what they say: whose
// dependent an object is, which object it is a copy of, which component released it, and which of its fields are left
// to others.
//
// The names have no prefix; the prefix is the name of the reconciler. The two marks that name the owner are in package
// manifests beside Owner, because authors select dependents by them. Names and values of marks are stored in live
// objects, so they never change.
//
// A mark that cannot be read counts as missing, because any client can change it. The package is pure.
package marks
