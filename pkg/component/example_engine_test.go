package component_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// This example uses an Engine in a custom controller. The controller persists the inventory, and calls Apply again
// whenever the engine calls Wake.
func ExampleNewEngine() {
	apply := func(ctx context.Context, config *rest.Config, owner manifests.Owner, desired []manifests.Object,
		load func() []metav1alpha1.InventoryEntry, save func(context.Context, []metav1alpha1.InventoryEntry) error, wake func(),
	) error {
		engine, err := component.NewEngine(ctx, owner.Reconciler, config, component.EngineOptions{
			Policies: component.Policies{Update: metav1alpha1.UpdateSSAOverride},
		})
		if err != nil {
			return err
		}
		outcome, err := engine.Apply(ctx, component.Pass{
			Owner: owner, Desired: desired, Revision: 1,
			Inventory: load(), Record: save, Wake: wake, Now: time.Now(),
		})
		if err != nil {
			return err
		}
		for _, w := range outcome.Waiting {
			fmt.Println("waiting for", w)
		}
		return save(ctx, outcome.Inventory)
	}
	_ = apply
}

// This example prints the live state of all dependents of a component.
func ExampleTree() {
	show := func(ctx context.Context, reader client.Reader, status *metav1alpha1.Status) error {
		inventory, err := component.Inventory(ctx, reader, status)
		if err != nil {
			return err
		}
		nodes, err := component.Tree(ctx, reader, inventory)
		if err != nil {
			return err
		}
		for _, node := range component.AddUnrecorded(nodes, status.Waiting) {
			fmt.Println(node.Wave, node.Key, node.State)
		}
		return nil
	}
	_ = show
}

// This example finds the dependents that wait for a dependency, a condition or an exported value.
func ExampleIsHoldUp() {
	status := &metav1alpha1.Status{Waiting: []metav1alpha1.DependentReport{
		{Dependent: "ConfigMap shop/web", Reason: component.ReportExport, Message: "it waits for export dbHost of Service shop/db"},
		{Dependent: "Service shop/db", Reason: "Absent", Message: "it does not exist"},
	}}
	for _, report := range status.Waiting {
		fmt.Println(report.Dependent, component.IsHoldUp(report))
	}
	// Output:
	// ConfigMap shop/web true
	// Service shop/db false
}

// This example prints the fields of a live dependent that are left to others.
func ExampleIgnoredFields() {
	show := func(live client.Object) {
		for _, ignored := range component.IgnoredFields(live) {
			fmt.Println(ignored.Path, "by the", ignored.Source)
		}
	}
	_ = show
}

// This example reads an inventory that is stored in the status of a component.
func ExampleInventory() {
	status := &metav1alpha1.Status{Inventory: []string{"apps/v1/Deployment/shop/web u=8f0c d=5b0e o=1"}}
	inventory, err := component.Inventory(context.Background(), nil, status)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(inventory[0].Kind, inventory[0].Name, "in wave", inventory[0].Order)
	// Output: Deployment web in wave 1
}

// The inventory does not record a dependent whose type the API server does not serve. AddUnrecorded adds a node for
// such a dependent, from the list of waiting dependents in the status.
func ExampleAddUnrecorded() {
	nodes := component.AddUnrecorded(nil, []metav1alpha1.DependentReport{
		{Dependent: "Boat.example.com one", Wave: 2, Reason: "KindNotServed", Message: "no matches for kind"},
	})
	fmt.Println(nodes[0].Wave, nodes[0].Key, nodes[0].Reason)
	// Output: 2 Boat.example.com one KindNotServed
}

// The objects that a component only observes are in its status, and not in its inventory. AddObserved reads them.
func ExampleAddObserved() {
	show := func(ctx context.Context, reader client.Reader, nodes []component.Node, status *metav1alpha1.Status) error {
		nodes, err := component.AddObserved(ctx, reader, nodes, status)
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
	nodes := component.AddFailures(
		[]component.Node{{Key: web, State: component.NodeReady}},
		[]metav1alpha1.DependentReport{{Dependent: web.String(), Reason: "Invalid", Message: "spec.ports: Required value"}},
	)
	fmt.Println(nodes[0].Key, nodes[0].State, nodes[0].Reason)
	// Output: Service shop/web NotUpdated Invalid
}

// This hook refuses the deletion of a component while the component is still in use.
func ExampleRefuseDeletion() {
	hooks := component.Hooks[*gadget.Gadget]{
		PreDelete: func(context.Context, *gadget.Gadget, component.DependentReader) error {
			return component.RefuseDeletion(errors.New("orders are open; close them first"))
		},
	}
	_ = hooks
}
