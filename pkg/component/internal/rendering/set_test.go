package rendering

import (
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestObservedObjectsAreNotApplied(t *testing.T) {
	observed := manifests.Object{
		Key:      manifests.Key{Kind: "Service", Namespace: "shop", Name: "db"},
		Settings: manifests.Settings{ReconcilePolicy: metav1alpha1.ReconcileObserve},
	}
	applied := manifests.Object{Key: manifests.Key{Kind: "ConfigMap", Namespace: "shop", Name: "web"}}
	objects := []manifests.Object{observed, applied}
	if got := withoutObserved(objects); len(got) != 1 || got[0].Key != applied.Key {
		t.Errorf("got %v", got)
	}
	if objects[0].Key != observed.Key {
		t.Errorf("the argument became %v", objects)
	}
}

func TestASetIsReplacedByARecordOfTheSameInputs(t *testing.T) {
	for _, c := range []struct {
		name, id, after, named, inputs string
		want                           bool
	}{
		{"the status names the set", "r6", "r5", "r6", "inputs", false},
		{"the status names the rendering that the set replaces", "r6", "r5", "r5", "inputs", false},
		{"the status names another rendering", "r6", "r5", "theirs", "inputs", true},
		{"the status names a rendering of other inputs", "r6", "r5", "theirs", "others", false},
		{"the status names a found rendering", "r6", "r5", "?theirs", "inputs", false},
		{
			"the status names a record that is kept of a deterministic rendering",
			"", "r5", "k0123456789abcdef0123456789abcdef01234567", "inputs", false,
		},
		{"the status names none", "r6", "r5", "", "inputs", false},
		{"a first rendering that the status does not name yet", "r1", "", "", "inputs", false},
		{"a deterministic set, whose previous record was not deleted", "", "r5", "r5", "inputs", false},
		{"a deterministic set, but another process has recorded values", "", "", "theirs", "inputs", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := Set{Rendered: Rendered{ID: c.id}, inputs: "inputs", after: c.after}
			status := &metav1alpha1.Status{RenderedSet: c.named, InputDigest: c.inputs}
			if got := set.isReplaced(status); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
