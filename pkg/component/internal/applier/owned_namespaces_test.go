package applier

import (
	"errors"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/apiservertest"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

var bankKey = manifests.Key{Kind: "Namespace", Name: "bank"}

// newBank returns a cluster with a component that has applied a ConfigMap in the namespace bank, with the policy own.
// setUp is called before the first pass.
func newBank(t *testing.T, setUp func(*cluster)) *cluster {
	t.Helper()
	c := newCluster(t)
	c.request.Policies.MissingNamespaces = metav1alpha1.MissingNamespacesOwn
	c.desire(inBank())
	setUp(c)
	if o := c.apply(); !o.Applied || len(o.Waiting) > 0 {
		t.Fatalf("the first pass did not apply the set: %+v", o)
	}
	return c
}

// inBank returns a ConfigMap in the namespace bank. Its delete wave is later than that of an object without an order.
func inBank() *unstructured.Unstructured {
	a := configMap("a", "-3")
	a.SetNamespace("bank")
	return a
}

func (c *cluster) bank() *unstructured.Unstructured {
	return c.server.Object("v1", "Namespace", "", "bank")
}

func (c *cluster) isRecorded(key manifests.Key) bool {
	_, recorded := plan.NewInventory(c.request.Inventory)[key]
	return recorded
}

func TestAnOwnedNamespaceIsDeletedWithItsComponent(t *testing.T) {
	c := newBank(t, func(*cluster) {})
	if log := c.took(); !strings.Contains(log, "record a+bank, POST namespaces") {
		t.Errorf("the log is %s, want the record before the creation of the namespace", log)
	}
	entry := plan.NewInventory(c.request.Inventory)[bankKey]
	owner := c.bank().GetLabels()[reconciler+"/"+manifests.LabelOwnerID]
	if owner != component.ID() || entry.UID != c.bank().GetUID() {
		t.Errorf("the namespace has the owner %q, and the entry is %q", owner, entry)
	}
	if o := c.apply(); len(o.Changes) > 0 || !c.isRecorded(bankKey) {
		t.Errorf("the next pass made the changes %v, with the inventory %v", o.Changes, c.request.Inventory)
	}
	o := c.delete()
	expectVerbs(t, o, "Delete a", "Delete bank")
	if c.bank() != nil || !o.Done() || len(o.Inventory) > 0 {
		t.Errorf("the namespace or its entry is left: %+v", o)
	}
}

func TestAnOwnedNamespaceIsPruned(t *testing.T) {
	c := newBank(t, func(*cluster) {})
	c.request.Revision = 2
	c.desire(configMap("b", "0"))
	o := c.apply()
	expectVerbs(t, o, "Create b", "Delete a", "Delete bank")
	if c.bank() != nil || c.isRecorded(bankKey) || o.Changes[2].Reason != string(plan.ReasonUnneeded) {
		t.Errorf("the namespace or its entry is left: %+v", o)
	}
}

func TestAnOwnedNamespaceIsKept(t *testing.T) {
	for _, c := range []struct {
		name string
		// setUp is called before the first pass, and change before the deletion.
		setUp, change func(*cluster)
		want          []string
		note          string
	}{
		{
			"with objects of others", func(*cluster) {},
			func(c *cluster) { c.server.Put("v1", "ConfigMap", "bank", "theirs", nil) },
			[]string{"Delete a", "Orphan bank"},
			"it contains objects of others (1): ConfigMap bank/theirs",
		},
		{
			"because the policy changed", func(*cluster) {},
			func(c *cluster) { c.request.Policies.MissingNamespaces = metav1alpha1.MissingNamespacesCreate },
			[]string{"Delete a", "Orphan bank"},
			"missingNamespacesPolicy is not own any more, or deletePolicy is not delete",
		},
		{
			"because it existed before", func(c *cluster) { c.server.Put("v1", "Namespace", "", "bank", nil) },
			func(*cluster) {},
			[]string{"Delete a"},
			"",
		},
		{
			"because it has another owner by now", func(*cluster) {},
			func(c *cluster) {
				labels := map[string]any{reconciler + "/" + manifests.LabelOwnerID: "them"}
				c.server.Put("v1", "Namespace", "", "bank", map[string]any{"metadata": map[string]any{"labels": labels}})
				c.eventually(func() bool {
					keys := []manifests.Key{bankKey}
					return c.client.Observer.Snapshot(c.client.Reader, keys).Of(bankKey).Owner != component.ID()
				})
			},
			[]string{"Delete a"},
			"",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := newBank(t, c.setUp)
			x.apply()
			c.change(x)
			o := x.delete()
			expectVerbs(t, o, c.want...)
			if x.bank() == nil || !o.Done() || len(o.Inventory) > 0 {
				t.Errorf("the namespace was deleted, or blocks the deletion: %+v", o)
			}
			if last := o.Changes[len(o.Changes)-1]; last.Note != c.note {
				t.Errorf("the note is %q, want %q", last.Note, c.note)
			}
			owner := x.bank().GetLabels()[reconciler+"/"+manifests.LabelOwnerID]
			if slices.Contains(c.want, "Orphan bank") && owner != "" {
				t.Errorf("the released namespace has the owner %q", owner)
			}
		})
	}
}

// An older version does not know the policy of an owned namespace. It must release the namespace, even if the
// namespace is empty.
func TestAnUnknownPolicyReleasesTheNamespace(t *testing.T) {
	c := newBank(t, func(*cluster) {})
	for i := range c.request.Inventory {
		if e := &c.request.Inventory[i]; plan.KeyOf(*e) == bankKey {
			e.DeletePolicy = "of-a-newer-version"
		}
	}
	expectVerbs(t, c.apply(), "Orphan bank")
	expectVerbs(t, c.delete(), "Delete a")
	if bank := c.bank(); bank == nil || bank.GetLabels()[reconciler+"/"+manifests.LabelOwnerID] != "" {
		t.Errorf("the namespace was deleted, or is still marked: %v", bank)
	}
}

func TestAnOwnedNamespaceWhoseCreationIsRefusedIsNotRecorded(t *testing.T) {
	c := newCluster(t)
	c.request.Policies.MissingNamespaces = metav1alpha1.MissingNamespacesOwn
	c.desire(inBank())
	c.refuse(func(r apiservertest.Request) error {
		if r.Method == "POST" && strings.HasSuffix(r.Path, "/namespaces") {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "namespaces"}, "bank", errors.New("no right"))
		}
		return nil
	})
	o := c.apply()
	if log := c.took(); !strings.Contains(log, "record a+bank, POST namespaces") || c.isRecorded(bankKey) {
		t.Errorf("the log is %s, and the inventory %v; want no entry after the refusal", log, o.Inventory)
	}
}
