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
	for _, text := range []string{"", "ns/a", "ReplicaSet web", "c/r/g/k/ns/a/b", "c//g/Shop/ns/a", "c/r/g//ns/a", "c/r/g/Shop/ns/"} {
		if parsed, ok := manifests.ParseOwner(text); ok {
			t.Errorf("%q is parsed as %v", text, parsed)
		}
	}
}

func TestCopyOf(t *testing.T) {
	key := manifests.Key{Group: "networking.k8s.io", Kind: "Ingress", Namespace: "shop", Name: "web"}
	for _, c := range []struct{ name, text, of string }{
		{"an object that names itself", "Ingress.networking.k8s.io shop/web", ""},
		{"an object of an earlier version, which has no annotation", "", ""},
		{"an object that was written under another group", "Ingress.extensions shop/web", ""},
		{"an annotation that is no key", "web", ""},
		{"a copy with another name", "Ingress.networking.k8s.io shop/first", "Ingress.networking.k8s.io shop/first"},
		{"a copy in another namespace", "Ingress.networking.k8s.io first/web", "Ingress.networking.k8s.io first/web"},
		{"a copy of an object without a namespace", "Ingress.networking.k8s.io web", "Ingress.networking.k8s.io web"},
		{"an object to which a controller copied annotations", "Deployment.apps shop/web", "Deployment.apps shop/web"},
	} {
		t.Run(c.name, func(t *testing.T) {
			of, copied := manifests.CopyOf(key, map[string]string{reconciler + "/object": c.text}, reconciler)
			if copied != (c.of != "") || copied && of.String() != c.of {
				t.Errorf("it is a copy: %t, of %s", copied, of)
			}
		})
	}
}

func TestOwnerOf(t *testing.T) {
	const ours, theirs = reconciler + "/owner-id", "other.example.com/owner-id"
	us := manifests.Owner{Cluster: "c", Reconciler: reconciler, Kind: "Shop", Name: "a"}
	for _, c := range []struct {
		name                string
		labels, annotations map[string]string
		controller          string
		id, owner           string
	}{
		{"no owner", nil, nil, "", "", ""},
		{"our own", map[string]string{ours: us.ID()}, map[string]string{ours: us.String()}, "", us.ID(), us.String()},
		{"no owner, because the label was edited and does not match the " +
			"annotation", map[string]string{ours: "edited"}, map[string]string{ours: us.String()}, "", "", ""},
		{"our component, although the annotation was lost", map[string]string{ours: "a"}, nil, "", "a", ""},
		{"our owner label takes precedence over the label of another " +
			"reconciler", map[string]string{ours: us.ID(), theirs: "b"}, map[string]string{ours: us.String(), theirs: "c/b"}, "", us.ID(), us.String()},
		{"the owner of another reconciler", map[string]string{theirs: "b"}, map[string]string{theirs: "c/b"}, "", "b", "c/b"},
		{"no owner, because a label without its annotation may have another " +
			"purpose", map[string]string{theirs: "b"}, nil, "", "", ""},
		{"an owner without a name, because the annotation beside the id of an owner was lost", map[string]string{theirs: us.ID()}, nil, "", us.ID(), ""},
		{"a controller", nil, nil, "ReplicaSet web", "ReplicaSet web", "ReplicaSet web"},
		{"the label of a reconciler takes precedence over a " +
			"controller", map[string]string{theirs: "b"}, map[string]string{theirs: "c/b"}, "ReplicaSet web", "b", "c/b"},
		{
			"the first of two other reconcilers by name",
			map[string]string{theirs: "b", "a.example.com/owner-id": "a"},
			map[string]string{theirs: "c/b", "a.example.com/owner-id": "c/a"},
			"", "a", "c/a",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			id, owner := manifests.OwnerOf(c.labels, c.annotations, reconciler, c.controller)
			if id != c.id || owner != c.owner {
				t.Errorf("got %q, %q", id, owner)
			}
		})
	}
}
