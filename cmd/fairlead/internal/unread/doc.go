// Package unread finds given values that nothing in a source reads, such as a misspelt name.
//
// A value is unread if the name of its key occurs nowhere in the source, not even in a comment of the default values,
// and if the source renders the same objects without it. So a part of a map that a template uses as a whole is read.
// The package prefers silence to a false warning: it reports nothing if the source does not render.
package unread
