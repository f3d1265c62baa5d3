package tree_test

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/component/tree"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Only the operator asks externals, so Tree does not know their states. The status contains the states.
func ExampleAddExternals() {
	orders := manifests.Key{Group: manifests.ExternalGroup, Kind: "Schema", Name: "orders"}
	users := manifests.Key{Group: manifests.ExternalGroup, Kind: "Schema", Name: "users"}
	unasked := func(key manifests.Key) tree.Node {
		return tree.Node{Key: key, UID: "token", State: result.NodeUnknown, Reason: tree.ReasonNotAsked}
	}
	nodes := tree.AddExternals([]tree.Node{unasked(orders), unasked(users)}, &metav1alpha1.Status{
		Conditions: []metav1.Condition{{Type: metav1alpha1.ConditionReady, Reason: metav1alpha1.ReasonCreateUncertain}},
		Waiting: []metav1alpha1.DependentReport{
			{Dependent: users.String(), Reason: result.ReportCreateUncertain, Message: "the result is not known"},
		},
	})
	for _, n := range nodes {
		fmt.Printf("%s: %s %q\n", n.Key, n.State, n.Reason)
	}
	// Output:
	// Schema.external.fairlead.io orders: Ready ""
	// Schema.external.fairlead.io users: Failed "CreateUncertain"
}

// The ids of externals are in Secrets beside the component.
func ExampleExternalRecords() {
	show := func(ctx context.Context, reader client.Reader, obj component.Component) error {
		records, err := tree.ExternalRecords(ctx, reader, obj, obj.GetStatus())
		for _, r := range records {
			fmt.Println(r.Key, r.ID)
		}
		return err
	}
	_ = show
}
