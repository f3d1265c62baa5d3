// Package rendering contains code that the engines share. It reads a source within limits, caches the parsed source,
// and ends a rendering when its context ends.
package rendering
