// Package components is the only reader and writer of component objects.
//
// A Store loads the newest known version of a component and writes its status and finalizers. Every write is bound to
// the resource version and to the inventory record that the pass started from, so that two operators of one name
// cannot overwrite each other. Passes holds the in-flight passes and interrupts those that work for an outdated
// request. Owners computes owner ids from the cluster id.
//
// The package is not generic: a component is an Object. It keeps one small Memory per component; the caller holds the
// map of the memories of all components. It may import api/meta, pkg/manifests and the packages condition and inspect.
// It must not import packages that render, record or apply dependents.
package components
