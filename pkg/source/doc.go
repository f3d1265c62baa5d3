// Package source holds the source that a component is rendered from: a read-only tree of files in memory.
//
// Pack writes a folder to an archive, Unpack reads an untrusted archive, Read and FromFiles read files, and Digest
// identifies the content. Limits apply to each of them: no source makes an operator run out of memory.
//
// The package imports no other package of this repository.
package source
