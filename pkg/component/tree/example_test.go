package tree_test

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/component/tree"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// This example prints the live state of all dependents of a component.
func ExampleRead() {
	show := func(ctx context.Context, reader client.Reader, status *metav1alpha1.Status) error {
		inventory, err := tree.Inventory(ctx, reader, status)
		if err != nil {
			return err
		}
		nodes, err := tree.Read(ctx, reader, inventory)
		if err != nil {
			return err
		}
		for _, node := range tree.AddUnrecorded(nodes, status.Waiting) {
			fmt.Println(node.Wave, node.Key, node.State)
		}
		return nil
	}
	_ = show
}

// This example prints the fields of a live dependent that are left to others.
func ExampleIgnoredFields() {
	show := func(live client.Object) {
		for _, ignored := range tree.IgnoredFields(live) {
			fmt.Println(ignored.Path, "by the", ignored.Source)
		}
	}
	_ = show
}

// This example reads an inventory that is stored in the status of a component.
func ExampleInventory() {
	status := &metav1alpha1.Status{Inventory: []string{"apps/v1/Deployment/shop/web u=8f0c d=5b0e o=1"}}
	inventory, err := tree.Inventory(context.Background(), nil, status)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(inventory[0].Kind, inventory[0].Name, "in wave", inventory[0].Order)
	// Output: Deployment web in wave 1
}

// The inventory does not contain a dependent whose type the API server does not serve. AddUnrecorded adds a node for
// such a dependent, from the list of waiting dependents in the status.
func ExampleAddUnrecorded() {
	nodes := tree.AddUnrecorded(nil, []metav1alpha1.DependentReport{
		{Dependent: "Boat.example.com one", Wave: 2, Reason: "KindNotServed", Message: "no matches for kind"},
	})
	fmt.Println(nodes[0].Wave, nodes[0].Key, nodes[0].Reason)
	// Output: 2 Boat.example.com one KindNotServed
}

// The objects that a component only observes are in its status, and not in its inventory. AddObserved reads them.
func ExampleAddObserved() {
	show := func(ctx context.Context, reader client.Reader, nodes []tree.Node, status *metav1alpha1.Status) error {
		nodes, err := tree.AddObserved(ctx, reader, nodes, status)
		for _, node := range nodes {
			fmt.Println(node.Wave, node.Key, node.State, node.Observed)
		}
		return err
	}
	_ = show
}

// A dependent whose update was refused is not Ready, although the live object is.
func ExampleAddFailures() {
	web := manifests.Key{Kind: "Service", Namespace: "shop", Name: "web"}
	nodes := tree.AddFailures(
		[]tree.Node{{Key: web, State: result.NodeReady}},
		[]metav1alpha1.DependentReport{{Dependent: web.String(), Reason: "Invalid", Message: "spec.ports: Required value"}},
	)
	fmt.Println(nodes[0].Key, nodes[0].State, nodes[0].Reason)
	// Output: Service shop/web NotUpdated Invalid
}
