// Package serverrules holds what an API server does with fields of built-in types beyond what a manifest says: fields
// that exclude each other, fields that it keeps as copies of others, and defaults that it derives from others once.
// Tables decide. The message of an API server never does.
//
// The package is pure.
package serverrules
