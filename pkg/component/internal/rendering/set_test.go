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
