// Package bounded checks texts before they are decoded, so that no text of a tenant exhausts the memory or the stack of
// the process. A few bytes of text can become kilobytes of memory, so the limits count what a decoder allocates: nodes,
// which are maps, lists, scalar values and keys. The length of the text is no measure.
//
// YAML, JSON and TOML check a text before it is decoded; Value measures data after it was decoded; Pattern checks a
// regular expression before it is compiled. PrivateKey and Certificates check keys before they are used, because the
// time for an RSA key grows faster than the square of its length. The checks never accept a text that exceeds a limit.
// A text that is not valid may be accepted; its decoder reports the mistake.
package bounded
