// Package plural writes numbers of things.
//
// Messages have "1 object" and "2 objects", and never "object(s)". The package knows only nouns with a regular plural.
package plural
