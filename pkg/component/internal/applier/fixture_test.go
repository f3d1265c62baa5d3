package applier

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/apiservertest"
	"github.com/fairlead-io/fairlead/pkg/component/internal/metrics"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/protect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/component/internal/telemetry"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

const reconciler = "shops.example.com"

var (
	start     = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	component = ownerNamed("web")
)

func ownerNamed(name string) manifests.Owner {
	return manifests.Owner{
		Cluster: "here", Reconciler: reconciler, Group: "example.com", Kind: "Shop", Namespace: "shop", Name: name,
	}
}

// cluster is a fake API server, an Applier that uses this server, and the request that the passes over the component
// use.
type cluster struct {
	t       *testing.T
	server  *apiservertest.Server
	client  *target.Client
	applier *Applier
	request Request
	woken   chan struct{}

	mu  sync.Mutex
	log []string
}

// newCluster returns a cluster. The log of the cluster contains the callbacks of the request and all writes. An
// inventory that a pass records or returns is the inventory of the next pass.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, server: apiservertest.New(t), woken: make(chan struct{}, 1)}
	monitor := telemetry.Monitor{Meter: metrics.Shared.Meter(reconciler)}
	options := target.Options{Reconciler: reconciler, Writers: 16, Monitor: monitor}
	connection, err := target.Connect(t.Context(), c.server.Config(), options)
	if err != nil {
		t.Fatal(err)
	}
	c.client = connection.Own()
	c.applier = New(Options{
		Reconciler: reconciler, Incidental: protect.WellKnown, Monitor: monitor,
		Policies: metav1alpha1.Policies{
			Reconcile: metav1alpha1.ReconcileOnObjectChange, Update: metav1alpha1.UpdateSSAMerge,
			Adoption: metav1alpha1.AdoptIfUnowned, Delete: metav1alpha1.DeleteDelete,
			MissingNamespaces: metav1alpha1.MissingNamespacesRefuse,
		},
	})
	c.request = Request{
		Owner: component, Revision: 1, Now: start, Wake: c.wake,
		Before: func(context.Context) error {
			c.note("before")
			return nil
		},
		Confirm: func(context.Context) error {
			c.note("confirm")
			return nil
		},
		WriteInventory: func(_ context.Context, entries []metav1alpha1.InventoryEntry) error {
			c.note("record " + namesOf(entries))
			c.request.Inventory = entries
			return nil
		},
	}
	c.refuse(func(apiservertest.Request) error { return nil })
	return c
}

func (c *cluster) wake() {
	select {
	case c.woken <- struct{}{}:
	default:
	}
}

func (c *cluster) note(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log = append(c.log, text)
}

// refuse makes the API server log all writes, and return the errors of the given function.
func (c *cluster) refuse(refuse func(apiservertest.Request) error) {
	c.server.Refuse(func(r apiservertest.Request) error {
		if r.Method != "GET" {
			c.note(r.Method + " " + r.Path[strings.LastIndex(r.Path, "/")+1:])
		}
		return refuse(r)
	})
}

// took returns the log, and clears it.
func (c *cluster) took() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := strings.Join(c.log, ", ")
	c.log = nil
	return text
}

func namesOf(entries []metav1alpha1.InventoryEntry) string {
	var names []string
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return strings.Join(names, "+")
}

// object returns a manifest.
func object(apiVersion, kind, name string, content map[string]any) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	maps.Copy(obj.Object, content)
	obj.SetAPIVersion(apiVersion)
	obj.SetKind(kind)
	obj.SetName(name)
	return obj
}

// configMap returns the manifest of a ConfigMap with the given apply order.
func configMap(name, order string) *unstructured.Unstructured {
	obj := object("v1", "ConfigMap", name, map[string]any{"data": map[string]any{"a": "1"}})
	obj.SetAnnotations(map[string]string{reconciler + "/" + manifests.AnnotationOrder: order})
	return obj
}

// desire sets the apply set of the request.
func (c *cluster) desire(bodies ...*unstructured.Unstructured) {
	c.request.Desired = c.normalise(bodies...)
}

func (c *cluster) normalise(bodies ...*unstructured.Unstructured) []manifests.Object {
	c.t.Helper()
	objects, err := normalise.Manifests(bodies, normalise.Options{
		Reconciler: reconciler, Namespace: "shop", Owner: c.request.Owner, ScopeOf: c.client.Discovery.Scope,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return objects
}

// run makes passes until the watches are synced.
func (c *cluster) run(
	pass func(context.Context, *target.Client, Request) (outcome.Outcome, error),
) (outcome.Outcome, error) {
	c.t.Helper()
	for {
		o, err := pass(c.t.Context(), c.client, c.request)
		if err != nil || !o.Observing {
			if err == nil {
				c.request.Inventory = o.Inventory
			}
			return o, err
		}
		c.awaitWake()
	}
}

func (c *cluster) awaitWake() {
	c.t.Helper()
	select {
	case <-c.woken:
	case <-time.After(20 * time.Second):
		c.t.Fatal("the callback Wake was not called within 20 seconds")
	}
}

// apply makes an apply pass and returns the outcome of this pass. The test fails if the pass returns an error.
func (c *cluster) apply() outcome.Outcome {
	c.t.Helper()
	o, err := c.run(c.applier.Apply)
	if err != nil {
		c.t.Fatal(err)
	}
	return o
}

// delete makes a deletion pass and returns the outcome of this pass. The test fails if the pass returns an error.
func (c *cluster) delete() outcome.Outcome {
	c.t.Helper()
	o, err := c.run(c.applier.Delete)
	if err != nil {
		c.t.Fatal(err)
	}
	return o
}

// expect compares the log of the cluster with want, and clears the log.
func (c *cluster) expect(want ...string) {
	c.t.Helper()
	if got := c.took(); got != strings.Join(want, ", ") {
		c.t.Errorf("the log of the cluster is %s, want %s", got, strings.Join(want, ", "))
	}
}

// eventually waits until a condition holds.
func (c *cluster) eventually(holds func() bool) {
	c.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Fatal("the awaited condition did not become true in time")
		}
	}
}

// eventuallySeen waits until the watch shows an object in the given resource version. If version is empty, it waits
// until the watch shows that the object is absent.
func (c *cluster) eventuallySeen(key manifests.Key, version string) {
	c.t.Helper()
	c.eventually(func() bool {
		live := c.client.Observer.Snapshot(c.client.Reader, []manifests.Key{key}).Of(key)
		return live.ResourceVersion == version && (live.Presence == plan.Present) == (version != "")
	})
}

func keyOf(name string) manifests.Key {
	return manifests.Key{Kind: "ConfigMap", Namespace: "shop", Name: name}
}

func verbs(o outcome.Outcome) []string {
	var texts []string
	for _, change := range o.Changes {
		texts = append(texts, change.Verb+" "+change.Key.Name)
	}
	return texts
}

func expectVerbs(t *testing.T, o outcome.Outcome, want ...string) {
	t.Helper()
	if got := verbs(o); !slices.Equal(got, want) {
		t.Errorf("the verbs of the changes are %v, want %v", got, want)
	}
}
