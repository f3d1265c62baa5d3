package inspect

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// listed returns a managed fields entry with the fields of data.
func listed(manager, operation string, fields ...string) metav1.ManagedFieldsEntry {
	text := ""
	for _, f := range fields {
		if text != "" {
			text += ","
		}
		text += `"f:` + f + `":{}`
	}
	e := metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationType(operation), APIVersion: "v1", FieldsType: "FieldsV1",
		FieldsV1: &metav1.FieldsV1{},
	}
	e.FieldsV1.SetRawBytes([]byte(`{"f:data":{` + text + `}}`))
	return e
}

func TestFieldsOfAllFieldOwnersAreOurs(t *testing.T) {
	type entries = []metav1.ManagedFieldsEntry
	renamed := View{Reconciler: reconciler, FieldOwner: "new", PreviousFieldOwners: []string{"old"}}
	status := listed("old", "Update", "a")
	status.Subresource = "status"
	for _, c := range []struct {
		name          string
		view          View
		entries, want entries
		previous      bool
	}{
		{
			"the default owner",
			View{Reconciler: reconciler},
			entries{listed(reconciler, "Apply", "a")},
			entries{listed(reconciler, "Apply", "a")},
			false,
		},
		{
			"another owner", renamed,
			entries{listed("new", "Apply", "a"), listed("kubectl", "Update", "b")},
			entries{listed(reconciler, "Apply", "a"), listed("kubectl", "Update", "b")},
			false,
		},
		{"a previous owner", renamed, entries{listed("old", "Apply", "a")}, entries{listed(reconciler, "Apply", "a")}, true},
		{
			"the name of the reconciler, which is a previous owner", renamed,
			entries{listed(reconciler, "Update", "a")},
			entries{listed(reconciler, "Update", "a")},
			true,
		},
		{
			"both owners", renamed,
			entries{listed("old", "Apply", "a", "b"), listed("new", "Apply", "b", "c")},
			entries{listed(reconciler, "Apply", "a", "b", "c")},
			true,
		},
		{
			"both operations", renamed,
			entries{listed("old", "Update", "a"), listed("new", "Apply", "b")},
			entries{listed(reconciler, "Update", "a"), listed(reconciler, "Apply", "b")},
			true,
		},
		{"a subresource", renamed, entries{status}, entries{status}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.view.OwnFields(c.entries)
			if diff := cmp.Diff(c.want, got); diff != "" || c.view.HasPrevious(c.entries) != c.previous {
				t.Errorf("previous owners: %t; the entries differ:\n%s", c.view.HasPrevious(c.entries), diff)
			}
			for _, e := range c.view.SentFields(got) {
				if e.Manager == reconciler && c.view.FieldOwner != "" {
					t.Errorf("an entry is sent with the manager %s", e.Manager)
				}
			}
		})
	}
}

func TestTheWriterOfALabel(t *testing.T) {
	view := View{Reconciler: reconciler, PreviousFieldOwners: []string{"old"}}
	for manager, want := range map[string]bool{
		reconciler: true, "old": true, "ancient-changes": true, "kubectl": false,
	} {
		e := listed(manager, "Update")
		e.FieldsV1.SetRawBytes([]byte(`{"f:metadata":{"f:labels":{"f:a":{}}}}`))
		entries := []metav1.ManagedFieldsEntry{listed("kubectl", "Update", "a"), e}
		obj := &metav1.PartialObjectMetadata{}
		obj.SetName("web")
		obj.SetManagedFields(entries)
		obj.SetAnnotations(map[string]string{reconciler + "/object": "ConfigMap web"})
		key := manifests.Key{Kind: "ConfigMap", Name: "web"}
		if view.Wrote(key, obj, "a") != want || view.Wrote(key, obj, "b") {
			t.Errorf("%s wrote the label: %t", manager, !want)
		}
	}
}

// Without the managed fields, only the annotation with the name of the object tells a dependent from a copy.
func TestTheWriterOfALabelIsNotKnown(t *testing.T) {
	view := View{Reconciler: reconciler}
	ancient := listed(AncientManager, "Update")
	ancient.FieldsV1.SetRawBytes([]byte(`{"f:metadata":{"f:labels":{"f:a":{}}}}`))
	for _, entries := range [][]metav1.ManagedFieldsEntry{nil, {ancient}} {
		for name, want := range map[string]bool{"ConfigMap web": true, "ConfigMap first": false, "": false} {
			obj := &metav1.PartialObjectMetadata{}
			obj.SetManagedFields(entries)
			if name != "" {
				obj.SetAnnotations(map[string]string{reconciler + "/object": name})
			}
			if got := view.Wrote(manifests.Key{Kind: "ConfigMap", Name: "web"}, obj, "a"); got != want {
				t.Errorf("the reconciler wrote the label of an object with the name %q: %t", name, got)
			}
		}
	}
}

func TestFactsAreEqualUnderAnotherFieldOwner(t *testing.T) {
	obj := func(manager string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "data": map[string]any{"a": "1"},
		}}
		o.SetManagedFields([]metav1.ManagedFieldsEntry{listed(manager, "Apply", "a")})
		return o
	}
	previous := View{Reconciler: reconciler}
	now := View{Reconciler: reconciler, FieldOwner: "new"}
	want := previous.Object(t.Context(), obj(reconciler))
	got, unchanged := now.Object(t.Context(), obj("new")), now.Object(t.Context(), obj(reconciler))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the facts differ:\n%s", diff)
	}
	if want.PreviousFieldOwner = true; cmp.Diff(want, unchanged) != "" {
		t.Errorf("the facts of an object of the previous owner differ:\n%s", cmp.Diff(want, unchanged))
	}
	partial := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name:          "a",
		ManagedFields: obj("new").GetManagedFields(),
	}}
	if now.Metadata(partial).Applied != got.Applied || partial.ManagedFields[0].Manager != "new" {
		t.Error("the metadata has other facts, or was changed")
	}
}
