package deletion

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestWhyARecordedObjectStays(t *testing.T) {
	owner := func(name string) manifests.Owner {
		return manifests.Owner{
			Cluster: "c", Reconciler: "fairlead.io", Group: "fairlead.io", Kind: "Component", Namespace: "apps", Name: name,
		}
	}
	owned := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			UID: "u", Labels: map[string]string{"fairlead.io/owner-id": owner(name).ID()},
			Annotations: map[string]string{"fairlead.io/owner-id": owner(name).String()},
		}
	}
	copied := owned("shop")
	copied.Annotations["fairlead.io/object"] = "ConfigMap apps/original"
	const uid = types.UID("u")
	isController := true
	for name, c := range map[string]struct {
		recorded types.UID
		live     metav1.ObjectMeta
		want     string
	}{
		"an object of the component":       {uid, owned("shop"), keptByPolicy},
		"an object without a recorded UID": {"", owned("shop"), keptByPolicy},
		"an object of another component": {
			uid, owned("other"), "because it belongs to Component.fairlead.io apps/other (reconciler fairlead.io) by now",
		},
		"an object that another component created again": {
			"former", owned("other"), "because it belongs to Component.fairlead.io apps/other (reconciler fairlead.io) by now",
		},
		"an object of a Helm release": {
			uid, metav1.ObjectMeta{UID: "u", Annotations: map[string]string{
				"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "apps",
			}}, "because it belongs to the Helm release apps/web by now",
		},
		"an object of a controller": {
			uid, metav1.ObjectMeta{UID: "u", OwnerReferences: []metav1.OwnerReference{
				{Kind: "Tenant", Name: "blue", Controller: &isController},
			}}, "because it belongs to Tenant blue by now",
		},
		"an object that somebody created again": {
			"former", metav1.ObjectMeta{UID: "u"}, "because somebody created it again, so it does not belong to the component",
		},
		"an object that was restored with the marks of the component": {"former", owned("shop"), keptByPolicy},
		"a copy with the marks of the component, in the place of its object": {
			"former", copied, "because somebody created it again, so it does not belong to the component",
		},
		"a copy with the marks of the component, without a recorded UID": {
			"", copied, "because it does not belong to the component",
		},
		"an object without marks and a recorded UID": {
			"", metav1.ObjectMeta{UID: "u"}, "because it does not belong to the component",
		},
		"an object without marks": {
			uid,
			metav1.ObjectMeta{UID: "u"},
			"because it does not belong to the component any more: its owner label was removed",
		},
	} {
		entry := metav1alpha1.InventoryEntry{Kind: "ConfigMap", Namespace: "apps", Name: "settings", UID: c.recorded}
		if got := keptBy(entry, &c.live, owner("shop").Component()); got != c.want {
			t.Errorf("%s stays %q, want %q", name, got, c.want)
		}
	}
}
