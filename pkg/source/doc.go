// Package source holds what a component is rendered from: a tree of files, in memory and read-only. It packs a folder into an archive,
// unpacks archives that others made without trusting them, and computes a digest of the content.
package source
