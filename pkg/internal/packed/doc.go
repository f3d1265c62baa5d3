// Package packed keeps manifests in little memory.
//
// Pack encodes manifests as JSON and compresses about 32 KiB of JSON at a time. The result takes about a tenth of the
// size of the JSON. Unpack returns copies, which the caller may change. Decompressed blocks stay in memory until the
// next garbage collection, so that a block is not decompressed again for each of its manifests.
//
// The rule: Unpack returns a manifest that is equal to the packed one.
package packed
