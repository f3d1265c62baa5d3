package lookup

import (
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/component/internal/apiservertest"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const reconciler = "shops.example.com"

var (
	configMap = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	namespace = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	widget    = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	gadget    = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gadget"}
	owner     = manifests.Owner{Cluster: "here", Reconciler: reconciler, Kind: "Shop", Namespace: "shop", Name: "web"}
	us        = Owner{Reconciler: reconciler, ID: owner.ID()}
)

// clusters contains the target of a component, and the fake API server of the target.
type clusters struct {
	*apiservertest.Server
	target target.Target
	wakes  atomic.Int32
}

func newClusters(t *testing.T) *clusters {
	t.Helper()
	server := apiservertest.New(t)
	connection, err := target.Connect(t.Context(), server.Config(), target.Options{Reconciler: reconciler})
	if err != nil {
		t.Fatal(err)
	}
	return &clusters{Server: server, target: target.Target{Client: connection.Own(), Local: connection.Own()}}
}

// put stores a ConfigMap with one value.
func (c *clusters) put(name, value string) {
	c.Put("v1", "ConfigMap", "shop", name, map[string]any{"data": map[string]any{"value": value}})
}

// putOwn stores a dependent of the component.
func (c *clusters) putOwn(name, value string) {
	c.Put("v1", "ConfigMap", "shop", name, map[string]any{
		"data": map[string]any{"value": value},
		"metadata": map[string]any{
			"labels":      map[string]any{reconciler + "/" + manifests.LabelOwnerID: us.ID},
			"annotations": map[string]any{reconciler + "/" + manifests.AnnotationOwnerID: owner.String()},
		},
	})
}

// gets returns the number of requests for the ConfigMap settings since the last call.
func (c *clusters) gets() (n int) {
	for _, request := range c.Requests() {
		if !request.Watch && request.Path == "/api/v1/namespaces/shop/configmaps/settings" {
			n++
		}
	}
	return n
}

func (c *clusters) wake() { c.wakes.Add(1) }

// eventually waits until holds returns true.
func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the condition was not met in time")
		}
	}
}
