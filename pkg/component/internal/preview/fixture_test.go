package preview

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/apiservertest"
	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/metrics"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/component/internal/telemetry"
	"github.com/fairlead-io/fairlead/pkg/component/internal/transport"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

const reconciler = "shops.example.com"

var (
	start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	owner = manifests.Owner{
		Cluster: "here", Reconciler: reconciler, Group: "example.com", Kind: "Shop", Namespace: "shop", Name: "web",
	}
)

// cluster is a fake API server with a Simulator, whose connection only makes dry runs.
type cluster struct {
	t *testing.T
	*apiservertest.Server
	client    *target.Client
	simulator *Simulator
	wakes     chan struct{}
	request   applier.Request
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, Server: apiservertest.New(t), wakes: make(chan struct{}, 1)}
	config, err := transport.DryRunOnly(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	monitor := telemetry.Monitor{Meter: metrics.Shared.Meter(reconciler)}
	connection, err := target.Connect(t.Context(), config, target.Options{
		Reconciler: reconciler, View: inspect.View{Reconciler: reconciler}, Writers: 16, Monitor: monitor,
	})
	if err != nil {
		t.Fatal(err)
	}
	c.client = connection.Own()
	c.simulator = &Simulator{Wakes: c.wakes, Applier: applier.New(applier.Options{
		Reconciler: reconciler, Monitor: monitor,
		Policies: metav1alpha1.Policies{
			Reconcile: metav1alpha1.ReconcileOnObjectChange, Update: metav1alpha1.UpdateReplace,
			Adoption: metav1alpha1.AdoptIfUnowned, Delete: metav1alpha1.DeleteDelete,
			MissingNamespaces: metav1alpha1.MissingNamespacesCreate,
		},
	})}
	c.request = applier.Request{Owner: owner, Revision: 1, Now: start, Wake: c.wake}
	return c
}

func (c *cluster) wake() {
	select {
	case c.wakes <- struct{}{}:
	default:
	}
}

// desire normalises manifests, and sets them as the apply set of the request.
func (c *cluster) desire(bodies ...*unstructured.Unstructured) {
	c.t.Helper()
	c.request.Desired = c.normalise(bodies...)
}

func (c *cluster) normalise(bodies ...*unstructured.Unstructured) []manifests.Object {
	c.t.Helper()
	objects, err := normalise.Manifests(bodies, normalise.Options{
		Reconciler: reconciler, Namespace: "shop", Owner: owner,
		ScopeOf: c.client.Discovery.Scope, StatusIsSubresource: c.client.Discovery.HasStatusSubresource,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return objects
}

// body returns a manifest. settings are pairs of the name and the value of an annotation of the reconciler.
func body(apiVersion, kind, namespace, name, value string, settings ...string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"value": value}}}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	annotations := map[string]string{}
	for i := 0; i+1 < len(settings); i += 2 {
		annotations[reconciler+"/"+settings[i]] = settings[i+1]
	}
	o.SetAnnotations(annotations)
	return o
}

func configMap(name, value string, settings ...string) *unstructured.Unstructured {
	return body("v1", "ConfigMap", "", name, value, settings...)
}

// apply applies the set with real writes, on a separate connection. The resulting inventory becomes the inventory of
// the request.
func (c *cluster) apply() {
	c.t.Helper()
	monitor := telemetry.Monitor{Meter: metrics.Shared.Meter(reconciler)}
	connection, err := target.Connect(c.t.Context(), c.Config(), target.Options{
		Reconciler: reconciler, View: inspect.View{Reconciler: reconciler}, Writers: 16, Monitor: monitor,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	request := c.request
	request.WriteInventory = func(_ context.Context, entries []metav1alpha1.InventoryEntry) error {
		request.Inventory = entries
		return nil
	}
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		o, err := c.simulator.Applier.Apply(c.t.Context(), connection.Own(), request)
		if err != nil {
			c.t.Fatal(err)
		}
		if o.Observing {
			continue
		}
		if request.Inventory = o.Inventory; o.Applied && o.Done() {
			c.request.Inventory = o.Inventory
			return
		}
	}
	c.t.Fatal("the objects are not applied in time")
}

// preview simulates an apply. The test fails if the simulation writes an object.
func (c *cluster) preview() result.Forecast {
	c.t.Helper()
	return c.forecast(func() error {
		_, err := c.simulator.Apply(c.t.Context(), c.client, c.request)
		return err
	})
}

// previewDelete simulates a deletion. The test fails if the simulation writes an object.
func (c *cluster) previewDelete() result.Forecast {
	c.t.Helper()
	return c.forecast(func() error {
		_, err := c.simulator.Delete(c.t.Context(), c.client, c.request)
		return err
	})
}

func (c *cluster) forecast(simulate func() error) result.Forecast {
	c.t.Helper()
	c.Requests()
	if err := simulate(); err != nil {
		c.t.Fatal(err)
	}
	for _, r := range c.Requests() {
		if r.Method != "GET" && !r.DryRun {
			c.t.Errorf("the preview sent a write that is not a dry run: %s", r)
		}
	}
	return c.simulator.Forecast
}

// expect compares the steps of a forecast with texts of the form "turn effect name".
func expect(t *testing.T, f result.Forecast, want ...string) {
	t.Helper()
	var steps []string
	for _, s := range f.Steps {
		text := fmt.Sprintf("%d %s %s", s.Turn, s.Effect, s.Key.Name)
		if s.Phase != "" {
			text += " in " + string(s.Phase)
		}
		if s.Held {
			text += ", held"
		}
		if s.Unchecked != "" {
			text += ": " + s.Unchecked
		}
		steps = append(steps, text)
	}
	if !slices.Equal(steps, want) {
		t.Errorf("the preview has the steps %q\nwant %q", steps, want)
	}
}
