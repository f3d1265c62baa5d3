package engine_test

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/rest"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/engine"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// This example uses an Engine in a custom controller. The controller persists the inventory, and calls Apply again
// whenever the engine calls Wake.
func ExampleNew() {
	apply := func(ctx context.Context, config *rest.Config, owner manifests.Owner, desired []manifests.Object,
		load func() []metav1alpha1.InventoryEntry, save func(context.Context,
			[]metav1alpha1.InventoryEntry) error, wake func(),
	) error {
		applier, err := engine.New(ctx, owner.Reconciler, config, engine.Options{
			Dependents: component.Dependents{Policies: metav1alpha1.Policies{Update: metav1alpha1.UpdateSSAOverride}},
		})
		if err != nil {
			return err
		}
		outcome, err := applier.Apply(ctx, engine.Request{
			Owner: owner, Desired: desired, Revision: 1,
			Inventory: load(), WriteInventory: save, Wake: wake, Now: time.Now(),
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

// The outcome of a pass says when the next pass is due if no event starts one earlier.
func ExampleResultOf() {
	due := engine.ResultOf(result.Outcome{NextDue: time.Now().Add(time.Hour)})
	atRest := engine.ResultOf(result.Outcome{})
	fmt.Println(due.RequeueAfter.Round(time.Hour), atRest.RequeueAfter)
	// Output: 1h0m0s 0s
}
