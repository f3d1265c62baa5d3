package component_test

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fairlead-io/fairlead/pkg/component"
)

// An operator that reads the watch scope and the namespaces from flags can print the error of Check to its users.
func ExampleWatchScope_Check() {
	fmt.Println(component.WatchScopeNamespaces.Check([]string{"shop", "shop"}))
	fmt.Println(component.WatchScopeCluster.Check(nil))
	// Output:
	// namespace "shop" is named twice
	// <nil>
}

// The cache of this operator watches only the two namespaces of its components, so the operator needs the rights to
// list and watch in these namespaces only.
func ExampleOptions_Cache() {
	options := component.Options{Watching: component.Watching{
		Scope: component.WatchScopeNamespaces, Namespaces: []string{"shop-a", "shop-b"},
	}}
	// The result is the field Cache of the manager's options. The same options are passed to NewReconciler.
	watched := options.Cache()
	fmt.Println(slices.Sorted(maps.Keys(watched.DefaultNamespaces)))
	// Output: [shop-a shop-b]
}
