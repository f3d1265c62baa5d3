package manifests_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestOwnerID(t *testing.T) {
	if errs := validation.IsValidLabelValue(testOwner.ID()); len(errs) > 0 {
		t.Errorf("%s is not a valid label value: %v", testOwner.ID(), errs)
	}
	if testOwner.String() != "c/shop.example.com/example.com/Shop/apps/shop" {
		t.Errorf("got %s", testOwner)
	}
	seen := map[string]string{testOwner.ID(): "the owner"}
	for name, edit := range map[string]func(*manifests.Owner){
		"cluster":    func(o *manifests.Owner) { o.Cluster = "d" },
		"reconciler": func(o *manifests.Owner) { o.Reconciler = "other.example.com" },
		"group":      func(o *manifests.Owner) { o.Group = "" },
		"kind":       func(o *manifests.Owner) { o.Kind = "Other" },
		"namespace":  func(o *manifests.Owner) { o.Namespace = "" },
		"name":       func(o *manifests.Owner) { o.Name = "other" },
	} {
		o := testOwner
		edit(&o)
		if other, ok := seen[o.ID()]; ok {
			t.Errorf("an owner with another %s has the same id as %s", name, other)
		}
		seen[o.ID()] = name
	}
}

func TestParseOwner(t *testing.T) {
	namespaced := manifests.Owner{
		Cluster:    "c",
		Reconciler: reconciler,
		Group:      "g.example.com",
		Kind:       "Shop",
		Namespace:  "ns",
		Name:       "a",
	}
	for _, owner := range []manifests.Owner{namespaced, {Cluster: "c", Reconciler: reconciler, Kind: "Shop", Name: "a"}} {
		if parsed, ok := manifests.ParseOwner(owner.String()); !ok || parsed != owner {
			t.Errorf("got %v, %v of %v", parsed, ok, owner)
		}
	}
	for _, text := range []string{
		"", "ns/a", "ReplicaSet web", "c/r/g/k/ns/a/b", "c//g/Shop/ns/a", "c/r/g//ns/a",
		"c/r/g/Shop/ns/",
	} {
		if parsed, ok := manifests.ParseOwner(text); ok {
			t.Errorf("%q is parsed as %v", text, parsed)
		}
	}
}
