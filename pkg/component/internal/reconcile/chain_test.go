package reconcile

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/apiservertest"
	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/metrics"
	"github.com/fairlead-io/fairlead/pkg/component/internal/rendering"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/component/internal/telemetry"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

// chain is a component with ConfigMaps that take over a value one after the other: the first one has the value, and each
// exports its value to the next one. The applier and the API server of its dependents are not faked.
type chain struct {
	*world
	server     *apiservertest.Server
	length     int
	value      string
	renderings int
	wakes      chan struct{}
}

func newChain(t *testing.T, length int) *chain {
	c := &chain{
		world: newWorld(t), server: apiservertest.New(t), length: length, value: "a",
		wakes: make(chan struct{}, 1),
	}
	monitor := telemetry.Monitor{Meter: metrics.Shared.Meter(reconciler)}
	connection, err := target.Connect(t.Context(), c.server.Config(), target.Options{
		Reconciler: reconciler, Writers: 16, View: inspect.View{Reconciler: reconciler}, Monitor: monitor,
	})
	if err != nil {
		t.Fatal(err)
	}
	c.target = target.Target{Client: connection.Own(), Local: connection.Own()}
	c.Applier = applier.New(applier.Options{Reconciler: reconciler, Monitor: monitor, Policies: metav1alpha1.Policies{
		Reconcile: metav1alpha1.ReconcileOnObjectChange, Update: metav1alpha1.UpdateSSAMerge,
		Adoption: metav1alpha1.AdoptIfUnowned, Delete: metav1alpha1.DeleteDelete,
		MissingNamespaces: metav1alpha1.MissingNamespacesRefuse,
	}})
	c.Rendering, c.Inventory = chainRendering{fakeRendering{c.world}, c}, statusInventory{fakeInventory{c.world}}
	c.Wake = func(types.NamespacedName) {
		select {
		case c.wakes <- struct{}{}:
		default:
		}
	}
	return c
}

// chainRendering renders the ConfigMaps of a chain.
type chainRendering struct {
	fakeRendering
	c *chain
}

func (r chainRendering) Render(_ context.Context, req rendering.Request) (rendering.Set, error) {
	r.c.renderings++
	values := map[string]string{}
	for _, e := range req.Exports {
		values[e.Name] = e.Value
	}
	set := setOf("capabilities")
	var bodies []*unstructured.Unstructured
	for i := range r.c.length {
		value := r.c.value
		if i > 0 {
			known := values[fmt.Sprint("v", i-1)]
			set.Lookups.Exports = append(set.Lookups.Exports, metav1alpha1.AskedExport{Name: fmt.Sprint("v", i-1), Value: known})
			if value = ""; known != "" {
				if err := json.Unmarshal([]byte(known), &value); err != nil {
					return set, err
				}
			}
		}
		bodies = append(bodies, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"value": value},
			"metadata": map[string]any{"name": fmt.Sprint("c", i), "annotations": map[string]any{
				reconciler + "/export": fmt.Sprintf("v%d=self.data.value", i),
			}},
		}})
	}
	var err error
	set.Objects, err = normalise.Manifests(bodies, normalise.Options{
		Reconciler: reconciler, Namespace: "shop", Owner: owner, ScopeOf: req.Target.Client.Discovery.Scope,
	})
	return set, err
}

// statusInventory keeps the inventory in the status.
type statusInventory struct{ fakeInventory }

func (i statusInventory) Load(_ context.Context, c *Component, _ manifests.Owner, _ target.Target) (Loaded, error) {
	entries, err := metav1alpha1.ParseInventory(c.GetStatus().Inventory)
	return Loaded{Entries: entries}, err
}

// converge makes passes while something starts them, and returns their number.
func (c *chain) converge() (passes int) {
	c.t.Helper()
	for {
		c.reconcile()
		if passes++; passes > 100 {
			c.t.Fatal("the passes do not end")
		}
		if c.ready().Status == "True" && len(c.wakes) == 0 {
			return passes
		}
		select {
		case <-c.wakes:
		case <-time.After(20 * time.Second):
			c.t.Fatalf("nothing starts a pass: %+v", c.ready())
		}
	}
}

func TestANewRevisionWhoseValuesChangeAtOnceIsOneRevision(t *testing.T) {
	c := newChain(t, 4)
	c.converge()
	if s := c.stored().Status; s.Revision != 1 || !slices.Equal(s.AskedExports, []string{`v0="a"`, `v1="a"`, `v2="a"`}) {
		t.Fatalf("revision %d with the values %v", s.Revision, s.AskedExports)
	}
	c.events, c.steps, c.value, c.inputs.Digest = nil, nil, "b", "changed"
	c.server.Requests()
	renderings := c.renderings
	if passes := c.converge(); passes != 4 || c.renderings-renderings != 4 {
		t.Errorf("made %d passes and %d renderings, want 4", passes, c.renderings-renderings)
	}
	var writes []string
	for _, r := range c.server.Requests() {
		if r.Method != "GET" && !r.DryRun {
			writes = append(writes, r.Method+" "+r.Path[strings.LastIndex(r.Path, "/")+1:])
		}
	}
	if !slices.Equal(writes, []string{"PATCH c0", "PATCH c1", "PATCH c2", "PATCH c3"}) {
		t.Errorf("the writes are %q", writes)
	}
	s := c.stored().Status
	if s.Revision != 2 || len(s.History) != 2 || !slices.Equal(s.AskedExports, []string{`v0="b"`, `v1="b"`, `v2="b"`}) {
		t.Errorf("revision %d, history %+v, values %v", s.Revision, s.History, s.AskedExports)
	}
	if n := count(c.steps, "write the status"); n != 1 || len(c.events) != 1 || !strings.HasPrefix(c.events[0].Note,
		"apply 4 ") {
		t.Errorf("wrote the status %d times, with the events %v", n, c.events)
	}
	if passes := c.converge(); passes != 1 || len(c.server.Requests()) != 0 {
		t.Errorf("made %d passes when nothing changed", passes)
	}
}
