package component_test

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fairlead-io/fairlead/pkg/component"
)

// An operator that takes both from flags tells its users what is wrong with them.
func ExampleWatchScope_Check() {
	fmt.Println(component.WatchScopeNamespaces.Check([]string{"shop", "shop"}))
	fmt.Println(component.WatchScopeCluster.Check(nil))
	// Output:
	// namespace "shop" is named twice
	// <nil>
}

// An operator that serves two namespaces needs the right to list and watch in these alone.
func ExampleOptions_Cache() {
	options := component.Options{WatchScope: component.WatchScopeNamespaces, WatchNamespaces: []string{"shop-a", "shop-b"}}
	// These are for the Cache of the manager's options; the reconciler gets the options themselves.
	watched := options.Cache()
	fmt.Println(slices.Sorted(maps.Keys(watched.DefaultNamespaces)))
	// Output: [shop-a shop-b]
}
