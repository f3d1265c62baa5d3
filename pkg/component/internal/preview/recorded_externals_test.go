package preview

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/internal/binding"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// external returns an external that exports its id.
func external() *unstructured.Unstructured {
	o := body(manifests.ExternalGroup+"/"+manifests.ExternalVersion, "Schema", "", "db", "",
		manifests.AnnotationExport, "schemaID=self.id")
	o.Object["spec"] = map[string]any{"charset": "utf8"}
	delete(o.Object, "data")
	return o
}

// bound returns a ConfigMap that binds the export of the external.
func bound(colour string) *unstructured.Unstructured {
	o := configMap("bound", "id ${{ schemaID }}", manifests.AnnotationBind, "true")
	o.Object["colour"] = colour
	return o
}

// recordApplied enters the external, and the ConfigMap with a bound value, as applied in the revision of the request.
func (c *cluster) recordApplied() {
	c.t.Helper()
	for _, o := range c.request.Desired {
		entry := metav1alpha1.InventoryEntry{
			Group: o.Key.Group, Version: o.Version, Kind: o.Key.Kind, Namespace: o.Key.Namespace, Name: o.Key.Name,
			Digest: o.Digest, Revision: 1, External: o.Key.IsExternal(), UID: "token",
		}
		if o.Settings.Binds() {
			bindings, _ := binding.New(reconciler, c.request.Desired)
			filled, err := bindings.Bind(c.t.Context(), o, func(string) (any, bool) { return "7", true })
			if err != nil {
				c.t.Fatal(err)
			}
			stored := c.Put("v1", "ConfigMap", o.Key.Namespace, o.Key.Name, filled.Object.Body.Object)
			entry.UID, entry.Digest = stored.GetUID(), filled.Object.Digest
		}
		c.request.Inventory = append(c.request.Inventory, entry)
	}
}

const schemaNotAsked = "it binds export schemaID of Schema.external.fairlead.io db, and a preview does not ask " +
	"outside Kubernetes"

func TestAPreviewDoesNotAskForValuesOfExternals(t *testing.T) {
	c := newCluster(t)
	c.desire(external(), bound("red"))
	c.recordApplied()
	f := c.preview()
	expect(t, f)
	if len(f.Waiting) != 0 || len(f.NotAsked) != 1 || f.NotAsked[0].Message != schemaNotAsked || f.Unchanged != 2 {
		t.Errorf("at rest: got %+v", f)
	}
}

func TestAnObjectThatWaitsForItsValueIsNotUnchanged(t *testing.T) {
	c := newCluster(t)
	c.desire(configMap("exporter", "1", manifests.AnnotationExport, "schemaID=self.data.missing"), bound("red"))
	f := c.preview()
	if len(f.Steps) != 1 || len(f.Waiting) == 0 || f.Unchanged != 0 {
		t.Errorf("want a step, an object that waits, and nothing unchanged, got %+v", f)
	}
}

func TestAnObjectWithAnUnknownValueIsAStepIfItsManifestChanged(t *testing.T) {
	c := newCluster(t)
	c.desire(external(), bound("red"))
	c.recordApplied()
	second := bound("red")
	second.SetName("second")
	c.desire(external(), bound("blue"), second)
	c.request.Revision = 2
	expect(t, c.preview(), "1 Update bound: "+schemaNotAsked, "2 Create second: "+schemaNotAsked)
}

func TestARecordedValueOfAnExternalIsUsed(t *testing.T) {
	c := newCluster(t)
	c.desire(external(), bound("red"))
	c.recordApplied()
	for value, want := range map[string]string{`"8"`: "id 8", `"7"`: "id 7"} {
		c.simulator.Published = map[string]runtime.RawExtension{"schemaID": {Raw: []byte(value)}}
		f := c.preview()
		// The object of this test has no managed fields, so it is read and compared even if its value is the same.
		if len(f.NotAsked) != 0 || len(f.Steps) != 1 || f.Steps[0].Key.Name != "bound" || f.Steps[0].Unchecked != "" {
			t.Fatalf("%s: got %+v", value, f)
		}
		text, err := f.Steps[0].After.MarshalJSON()
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: got %s, %v", value, text, err)
		}
	}
}
