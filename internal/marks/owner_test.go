package marks_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const reconciler = "shop.example.com"

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
			of, copied := marks.CopyOf(key, map[string]string{reconciler + "/object": c.text}, reconciler)
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
		{
			"our owner label takes precedence over the label of another " +
				"reconciler",
			map[string]string{ours: us.ID(), theirs: "b"},
			map[string]string{ours: us.String(), theirs: "c/b"},
			"",
			us.ID(), us.String(),
		},
		{"the owner of another reconciler", map[string]string{theirs: "b"}, map[string]string{theirs: "c/b"}, "", "b", "c/b"},
		{"no owner, because a label without its annotation may have another " +
			"purpose", map[string]string{theirs: "b"}, nil, "", "", ""},
		{
			"an owner without a name, because the annotation beside the id of an owner was lost",
			map[string]string{theirs: us.ID()},
			nil, "", us.ID(), "",
		},
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
			id, owner := marks.OwnerOf(c.labels, c.annotations, reconciler, c.controller)
			if id != c.id || owner != c.owner {
				t.Errorf("got %q, %q", id, owner)
			}
		})
	}
}
