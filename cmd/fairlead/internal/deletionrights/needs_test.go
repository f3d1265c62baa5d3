package deletionrights

import (
	"fmt"
	"slices"
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

func TestNeedsOf(t *testing.T) {
	entry := func(group, kind, name string, change func(*metav1alpha1.InventoryEntry)) metav1alpha1.InventoryEntry {
		e := metav1alpha1.InventoryEntry{Group: group, Version: "v1", Kind: kind, Namespace: "shop", Name: name, UID: "u"}
		if change != nil {
			change(&e)
		}
		return e
	}
	policy := func(p metav1alpha1.DeletePolicy) func(*metav1alpha1.InventoryEntry) {
		return func(e *metav1alpha1.InventoryEntry) { e.DeletePolicy = p }
	}
	cases := map[string]struct {
		inventory []metav1alpha1.InventoryEntry
		want      []string
	}{
		"objects of a type": {
			inventory: []metav1alpha1.InventoryEntry{entry("", "ConfigMap", "b", nil), entry("", "ConfigMap", "a", nil)},
			want:      []string{"get ConfigMap [a b]", "delete ConfigMap [a b]"},
		},
		"released objects": {
			inventory: []metav1alpha1.InventoryEntry{
				entry("", "ConfigMap", "a", policy(metav1alpha1.DeleteOrphan)),
				entry("", "Secret", "a", policy(metav1alpha1.DeleteOrphanOnDelete)),
			},
			want: []string{"patch ConfigMap [a]", "patch Secret [a]"},
		},
		"an object that is released only if it is no longer rendered": {
			inventory: []metav1alpha1.InventoryEntry{entry("", "ConfigMap", "a", policy(metav1alpha1.DeleteOrphanOnApply))},
			want:      []string{"get ConfigMap [a]", "delete ConfigMap [a]"},
		},
		"a namespace that belongs to the component, and that may be kept": {
			inventory: []metav1alpha1.InventoryEntry{entry("", "Namespace", "a", policy(metav1alpha1.DeleteIfEmpty))},
			want:      []string{"get Namespace [a]", "delete Namespace [a]", "patch Namespace [a]"},
		},
		"a claim, which remains": {
			inventory: []metav1alpha1.InventoryEntry{entry("", "PersistentVolumeClaim", "a", nil)},
			want:      []string{"patch PersistentVolumeClaim [a]"},
		},
		"a claim that is deleted": {
			inventory: []metav1alpha1.InventoryEntry{entry("", "PersistentVolumeClaim", "a", policy(metav1alpha1.DeleteDelete))},
			want:      []string{"get PersistentVolumeClaim [a]", "delete PersistentVolumeClaim [a]"},
		},
		"a definition": {
			inventory: []metav1alpha1.InventoryEntry{
				entry("apiextensions.k8s.io", "CustomResourceDefinition",
					"widgets.example.com", func(e *metav1alpha1.InventoryEntry) {
						e.Types = []string{"Widget.example.com", "*.other.example.com"}
					}),
			},
			want: []string{
				"get CustomResourceDefinition [widgets.example.com]", "delete CustomResourceDefinition [widgets.example.com]",
				"list Widget []",
			},
		},
		"a purged object": {
			inventory: []metav1alpha1.InventoryEntry{entry("batch", "Job",
				"a", func(e *metav1alpha1.InventoryEntry) { e.UID, e.Completed = "", true })},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, n := range needsOf(c.inventory) {
				got = append(got, fmt.Sprintf("%s %s %s", n.verb, n.kind.Kind, n.names))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("want %q, got %q", c.want, got)
			}
		})
	}
}

func TestOnNamesSomeObjects(t *testing.T) {
	for want, m := range map[string]Missing{
		"widgets.example.com":     {Resource: "widgets.example.com"},
		"configmaps a, b in shop": {Resource: "configmaps", Namespace: "shop", Names: []string{"a", "b"}},
		"configmaps a, b, c and 1 more in shop": {
			Resource: "configmaps", Namespace: "shop",
			Names: []string{"a", "b", "c", "d"},
		},
		"clusterroles.rbac.authorization.k8s.io": {Resource: "clusterroles.rbac.authorization.k8s.io"},
	} {
		if got := m.On(); got != want {
			t.Errorf("want %q, got %q", want, got)
		}
	}
}

func TestKept(t *testing.T) {
	entry := func(kind, name string, policy metav1alpha1.DeletePolicy) metav1alpha1.InventoryEntry {
		return metav1alpha1.InventoryEntry{
			Version: "v1", Kind: kind, Namespace: "shop", Name: name, UID: "u", DeletePolicy: policy,
		}
	}
	purged := entry("Job", "purged", metav1alpha1.DeleteOrphan)
	purged.UID, purged.Completed = "", true
	var got []string
	for _, e := range Kept([]metav1alpha1.InventoryEntry{
		entry("ConfigMap", "deleted", ""), entry("Secret", "kept", metav1alpha1.DeleteOrphan), purged,
		entry("PersistentVolumeClaim", "data", ""), entry("PersistentVolumeClaim", "scratch", metav1alpha1.DeleteDelete),
	}) {
		got = append(got, KeyOf(e).String())
	}
	if want := []string{"Secret shop/kept", "PersistentVolumeClaim shop/data"}; !slices.Equal(got, want) {
		t.Errorf("the kept objects are %q, want %q", got, want)
	}
}
