// Package digests computes the digests of manifests and of other JSON values.
//
// The digest of a manifest has up to three parts, separated by dots: the content, the settings if there are any, and,
// for an object with bound values, the content with holes. So a changed content, a changed setting and a changed value
// can be told apart. Digests are stored in annotations and inventories: equal input must have an equal digest in all
// versions.
//
// The package is pure.
package digests
