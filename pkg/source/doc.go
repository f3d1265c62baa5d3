// Package source reads and packs sources. A source is the read-only tree of files, in memory, from which a component is
// rendered.
//
// Pack writes a folder to an archive, Unpack reads an untrusted archive, Read and FromFiles read files, and Digest
// identifies the content. Each of these functions has limits, so that no source can exhaust the memory of an operator.
package source
