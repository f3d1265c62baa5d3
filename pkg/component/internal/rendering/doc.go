// Package rendering calls the generator, and decides which rendering of the inputs counts.
//
// The last set of each component is kept compressed within a bound over all components, and rendered again when it is
// needed and was evicted. New inputs are rendered a second time, at another time and without the status of looked-up
// objects (the determinism check). Values that differ each time are pinned: those of the first rendering stay until the
// inputs change. A set that may lack objects because discovery failed is refused.
//
// The package writes nothing to a cluster; package inventory records pinned renderings. It imports target, input,
// lookup, records, plan and condition.
package rendering
