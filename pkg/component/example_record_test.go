package component_test

import (
	"context"
	"fmt"

	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// A hook that reads the inventory before it is searched again.
func ExampleRecordDoubt() {
	hooks := component.Hooks[*gadget.Gadget]{
		PostRead: func(_ context.Context, g *gadget.Gadget, _ component.DependentReader) error {
			if why := component.RecordDoubt(g.GetStatus()); why != "" {
				return nil // The inventory may lack dependents now.
			}
			fmt.Println(len(g.Status.Inventory), "dependents")
			return nil
		},
	}
	_ = hooks.PostRead(context.Background(), &gadget.Gadget{}, nil)
	// Output: 0 dependents
}
