package protect

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/apiservertest"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const reconciler = "shops.example.com"

var (
	widgetKind  = schema.GroupKind{Group: "example.com", Kind: "Widget"}
	widgetType  = manifests.ManagedType{GroupKind: widgetKind}
	definitions = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
)

// newProtector returns a fake API server, and a Protector with a client for this server.
func newProtector(t *testing.T) (*apiservertest.Server, *Protector) {
	t.Helper()
	server := apiservertest.New(t)
	connection, err := target.Connect(t.Context(), server.Config(), target.Options{Reconciler: reconciler})
	if err != nil {
		t.Fatal(err)
	}
	return server, New(connection.Own(), WellKnown, nil)
}

// widgets returns the inventory entry of the definition of Widgets.
func widgets() metav1alpha1.InventoryEntry {
	return metav1alpha1.InventoryEntry{
		Group: definitions.Group, Version: "v1", Kind: definitions.Kind, Name: "widgets.example.com", UID: "definition",
		Types: []string{"Widget.example.com"},
	}
}

// apiService returns the inventory entry of an APIService.
func apiService(version string) metav1alpha1.InventoryEntry {
	const group = "metrics.example.com"
	return metav1alpha1.InventoryEntry{
		Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService", Name: version + "." + group,
		Types: []string{"*." + group},
	}
}

func deleting(entries ...metav1alpha1.InventoryEntry) plan.Facts {
	return plan.Facts{
		Owner: "us", Component: manifests.Key{Group: "example.com", Kind: "Shop", Namespace: "shop", Name: "web"},
		Inventory: plan.NewInventory(entries), Reason: plan.ReasonDeleted, Live: plan.Snapshot{},
		Foreign: map[manifests.ManagedType]plan.ForeignInstances{}, Contents: map[string]plan.Contents{},
	}
}

// watchInstances starts watches on the instances of types, and waits until their first lists are complete or have
// failed.
func watchInstances(t *testing.T, p *Protector, kinds ...schema.GroupKind) {
	t.Helper()
	p.client.Observer.Watch("us", p.client.Reader, map[observe.WatchedResource]string{}, func() {})
	p.client.Observer.WatchInstances("us", kinds)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		waiting := false
		for _, gk := range kinds {
			_, reason, _ := p.client.Observer.Instances(p.client.Reader, gk)
			waiting = waiting || reason == plan.WaitObserving
		}
		if !waiting {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the watch did not deliver the instances in time")
		}
	}
}
