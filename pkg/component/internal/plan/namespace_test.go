package plan

import (
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// TestNamespaceIsCreatedOnce plans for several objects whose namespaces do not exist. Three objects are in the same
// namespace.
func TestNamespaceIsCreatedOnce(t *testing.T) {
	f := Facts{
		Owner: us, Defaults: Policies{MissingNamespaces: metav1alpha1.MissingNamespacesCreate},
		Results: map[manifests.Key]Result{},
	}
	for _, namespace := range []string{"shop", "shop", "bank", "shop"} {
		o := desiredObject(0, manifests.StageWorkloads, string(rune('a'+len(f.Desired))))
		o.Key.Namespace = namespace
		f.Desired = append(f.Desired, o)
		f.Results[o.Key] = Result{
			Verb: VerbCreate, Attempts: 1,
			Failure: &Failure{Class: Transient, Reason: WaitNamespaceMissing},
		}
	}
	p := ForApply(f.seen(newWorld().watched))
	var names []string
	for _, a := range p.Actions {
		if a.Verb != VerbCreateNamespace || a.Key.Kind != "Namespace" {
			t.Errorf("the plan contains the unwanted action %s %s", a.Verb, a.Key)
		}
		names = append(names, a.Key.Name)
	}
	if len(names) != 2 || names[0] != "shop" || names[1] != "bank" {
		t.Errorf("the plan creates the namespaces %v, want shop and bank", names)
	}
	for key := range p.Inventory {
		if key.Kind == "Namespace" {
			t.Errorf("the plan records the missing namespace %s in the inventory", key)
		}
	}
}
