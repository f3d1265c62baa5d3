// Package rendering calls the generator, and decides which rendering of the inputs is applied.
//
// The last rendered set of each component is cached in compressed form, within a memory limit for all components
// together. An evicted set is rendered again when it is needed. New inputs are rendered a second time, at another time
// and without the status of looked-up objects (the determinism check). Values that differ at each rendering are pinned:
// the values of the first rendering are kept until the inputs change. A set that may lack objects because the discovery
// of an API group failed is refused.
//
// The package writes nothing to a cluster; package inventory stores pinned renderings.
package rendering
