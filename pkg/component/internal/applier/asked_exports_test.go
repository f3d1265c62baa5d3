package applier

import (
	"slices"
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inclusion"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// asks lets the rendering of the request ask for an export of a ConfigMap. value is what the rendering got.
func (c *cluster) asks(export, exporter, value string) {
	c.request.Asked = []plan.AskedExport{{
		AskedExport: metav1alpha1.AskedExport{Name: export, Value: value}, Exporter: keyOf(exporter),
	}}
}

func TestAPassEndsAtThePlanThatFindsAnotherValue(t *testing.T) {
	c := newCluster(t)
	c.desire(withSettings(configMap("source", "0"), "export", "a=self.data.a"), configMap("later", "1"))
	c.asks("a", "source", "")
	o := c.apply()
	expectVerbs(t, o, "Create source")
	if !slices.Equal(o.Asked, []metav1alpha1.AskedExport{{Name: "a", Value: `"1"`}}) || o.Done() {
		t.Errorf("the pass ends with the values %v", o.Asked)
	}
	if len(o.Created) != 1 || o.Unrecorded || len(o.Recorded) != len(o.Inventory) || !slices.ContainsFunc(o.Inventory,
		isSource) {
		t.Errorf("got %+v", o)
	}
	c.expect("before", "record later+source", "PATCH source")

	c.asks("a", "source", `"1"`)
	c.request.Recorded, c.request.Unrecorded = o.Recorded, true
	if o = c.apply(); o.Asked != nil || !o.Done() {
		t.Errorf("a rendering with the current value is not applied: %+v", o)
	}
	c.expect("before", "record later+source", "PATCH later")
}

func isSource(e metav1alpha1.InventoryEntry) bool { return e.Name == "source" }

func TestAValueThatVanishesEndsNoPass(t *testing.T) {
	c := newCluster(t)
	c.desire(withSettings(configMap("source", "0"), "export", "a=self.data.none"))
	c.asks("a", "source", `"1"`)
	o := c.apply()
	if o.Asked != nil || len(o.Waiting) != 1 || !o.Waiting[0].Open {
		t.Errorf("got %+v", o)
	}
}

func TestARenderingThatIsHeldIsAppliedWithAnOutdatedValue(t *testing.T) {
	c := newCluster(t)
	c.desire(withSettings(configMap("source", "0"), "export", "a=self.data.a"))
	c.asks("a", "source", `"0"`)
	c.request.HoldExports = true
	if o := c.apply(); o.Asked != nil || len(o.Waiting) != 1 || !o.Waiting[0].Open {
		t.Errorf("got %+v", o)
	}
}

func TestAPassThatEndsForAnExportKeepsWhatItReadOfObservedObjects(t *testing.T) {
	c := newCluster(t)
	c.server.Put("v1", "ConfigMap", "shop", "theirs", map[string]any{"data": map[string]any{"a": "1"}})
	reads := c.countReads("theirs")
	c.desire(withSettings(object("v1", "ConfigMap", "theirs", nil), "reconcile-policy", "observe", "export",
		"size=size(self.data)"))
	c.asks("size", "theirs", "")
	if o := c.apply(); len(o.Asked) != 1 || o.Asked[0].Value != "1" || reads() != 1 {
		t.Fatalf("got %+v after %d reads", o, reads())
	}
	c.asks("size", "theirs", "1")
	if o := c.apply(); !o.Done() || reads() != 1 {
		t.Errorf("got %+v after %d reads, want no further read", o, reads())
	}
}

// The records of the ended pass are the requests of the next one, so an entry that only the memory has must be recorded.
func TestTheNextPassRecordsWhatTheLastOneDidNot(t *testing.T) {
	c := newCluster(t)
	c.desire(configMap("source", "0"))
	if o := c.apply(); !o.Done() {
		t.Fatalf("got %+v", o)
	}
	c.took()
	c.request.Recorded, c.request.Unrecorded = plan.Inventory{}, true
	c.desire(configMap("source", "0"), configMap("other", "0"))
	c.apply()
	if got := c.took(); got != "before, record other+source, PATCH other" {
		t.Errorf("the log of the cluster is %s", got)
	}
}

func TestExportersWhoseTypeIsNotServedHaveTheKeysOfTheirEntries(t *testing.T) {
	rendered := manifests.Key{Group: "example.com", Kind: "Gadget", Name: "source"}
	recorded := rendered
	recorded.Namespace = "shop"
	asked := []plan.AskedExport{{Exporter: rendered, AskedExport: metav1alpha1.AskedExport{Name: "a"}}}
	r := Request{
		Desired: []manifests.Object{{Key: rendered, Scope: manifests.ScopeUnknown}}, Asked: asked,
		Inventory: []metav1alpha1.InventoryEntry{{
			Group: "example.com", Version: "v1", Kind: "Gadget", Namespace: "shop", Name: "source",
		}},
	}.Decide(t.Context(), inclusion.Inputs{Namespace: "shop"})
	if r.Asked[0].Exporter != recorded || r.Desired[0].Key != recorded {
		t.Errorf("the exporter is %s, and the object %s, want both as in the inventory", r.Asked[0].Exporter, r.Desired[0].Key)
	}
	if asked[0].Exporter != rendered {
		t.Error("the exports of the rendered set were changed")
	}
}
