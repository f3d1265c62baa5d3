// Package packed keeps manifests in little memory.
//
// Pack encodes manifests as JSON and compresses about 32 KiB of them together, which takes about a tenth of the JSON.
// Unpack returns copies, which the caller may change. Decompressed blocks stay in memory until the next garbage
// collection, so that the manifests of a set are unpacked without decompressing a block for each.
//
// The rule: a manifest comes back as it was packed. The package imports no other package of this repository.
package packed
