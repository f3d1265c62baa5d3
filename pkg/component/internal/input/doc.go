// Package input reads the inputs of a rendering: parameters, referenced Secrets and ConfigMaps, and a source.
//
// A Reader reduces the inputs to one digest. A component gets a new revision only if this digest changes. References
// are watched by name; their data is read only after a change, or when something is rendered. Only the digest of a
// source is part of the inputs. The source itself is fetched when something is rendered, in a goroutine of its own, so
// that it occupies no worker of the controller. The end of the fetch starts a pass over the component.
//
// All requests use the identity of the component.
package input
