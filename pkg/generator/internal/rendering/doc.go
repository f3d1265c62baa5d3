// Package rendering holds what the engines share: reading a source with bounds, parsing it once, and rendering under
// a context.
package rendering
