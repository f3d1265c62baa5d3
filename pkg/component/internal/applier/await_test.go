package applier

import (
	"testing"

	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestOwnerOfAnObjectOfAnotherComponent(t *testing.T) {
	owner := func(reconciler string) manifests.Owner {
		return manifests.Owner{
			Cluster: "c", Reconciler: reconciler, Group: "example.com", Kind: "Part", Namespace: "shop", Name: "other",
		}
	}
	ours, theirs := owner("parts.example.com"), owner("others.example.com")
	for name, c := range map[string]struct {
		live plan.Observed
		want observe.Owner
	}{
		"a component of the same reconciler owns the object": {
			plan.Observed{Owner: ours.ID(), OwnerName: ours.String()}, observe.Owner{ID: ours.ID(), Name: ours.String()},
		},
		"a component of another reconciler owns the object, which no watch shows": {
			plan.Observed{Owner: theirs.ID(), OwnerName: theirs.String()}, observe.Owner{},
		},
		"a controller owns the object": {plan.Observed{Owner: "uid", OwnerName: "uid"}, observe.Owner{}},
		"the object has no owner":      {plan.Observed{}, observe.Owner{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ownerOf(c.live, "parts.example.com"); got != c.want {
				t.Errorf("ownerOf returned the owner %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestMissingNamespaceIsWatchedUntilItExists(t *testing.T) {
	c := newCluster(t)
	body := configMap("a", "0")
	body.SetNamespace("later")
	c.desire(body)
	o := c.apply()
	if len(o.Waiting) != 1 || o.Waiting[0].Reason != string(plan.WaitNamespaceMissing) || o.Applied {
		t.Fatalf("the outcome must wait for the missing namespace, got %+v", o)
	}
	namespace := observe.Reference{Resource: namespaces, Name: "later"}
	known := func() bool {
		_, known, _ := c.client.Namespaces.Version(observe.Reader{}, namespace)
		return known
	}
	c.eventually(known)
	for len(c.woken) > 0 {
		<-c.woken
	}
	c.server.Put("v1", "Namespace", "", "later", nil)
	c.awaitWake()
	if o = c.apply(); !o.Done() || known() {
		t.Errorf("the pass is not done, or namespaces are still watched: outcome %+v, watched %t", o, known())
	}
	expectVerbs(t, o, "Create a")
}

func TestComponentIsWokenWhenAnotherReleasesAnObject(t *testing.T) {
	c := newCluster(t)
	c.desire(configMap("a", "0"))
	if o := c.apply(); !o.Done() {
		t.Fatalf("the first pass is not done: %+v", o)
	}
	first := c.request
	c.request.Owner, c.request.Inventory = ownerNamed("second"), nil
	c.desire(configMap("a", "0"))
	o := c.apply()
	if len(o.Waiting) != 1 || o.Waiting[0].Reason != string(plan.WaitOwnershipConflict) || !o.Waiting[0].Terminal {
		t.Fatalf("the outcome must have an ownership conflict, got %+v", o)
	}
	c.request, first = first, c.request
	first.Inventory = o.Inventory
	c.request.Wake = func() {}
	if o := c.delete(); !o.Done() || len(o.Inventory) != 0 {
		t.Fatalf("the deletion pass is not done, or the inventory is not empty: %+v", o)
	}
	for len(c.woken) > 0 {
		<-c.woken
	}
	c.awaitWake()
	c.request = first
	c.eventually(func() bool { return c.apply().Done() })
	got := c.server.Object("v1", "ConfigMap", "shop", "a")
	if got.GetLabels()[reconciler+"/owner-id"] != ownerNamed("second").ID() {
		t.Errorf("the object does not have the owner label of the second component: %v", got.GetLabels())
	}
}
