package components

import (
	"context"
	"slices"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const reconciler = "gadgets.example.com"

var (
	app       = types.NamespacedName{Namespace: "shop", Name: "app"}
	gadgetGVK = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gadget"}
)

// gadget is a component whose author stores a port in the status.
type gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec   gadgetSpec   `json:"spec,omitzero"`
	Status gadgetStatus `json:"status,omitzero"`
}

type gadgetSpec struct {
	Suspend bool `json:"suspend,omitempty"`
}

type gadgetStatus struct {
	metav1alpha1.Status `json:",inline"`

	Port int `json:"port,omitempty"`
}

func (g *gadget) GetStatus() *metav1alpha1.Status { return &g.Status.Status }

func (g *gadget) Suspended() bool { return g.Spec.Suspend }

func (g *gadget) DeepCopyObject() runtime.Object {
	copied := *g
	copied.ObjectMeta = *g.DeepCopy()
	copied.Status.Status = *g.Status.DeepCopy()
	return &copied
}

// embedding is a component without a method DeepCopyObject of its own.
type embedding struct{ gadget }

// gadgetList is a list of components.
type gadgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`

	Items []gadget `json:"items"`
}

func (l *gadgetList) DeepCopyObject() runtime.Object {
	copied := *l
	copied.Items = slices.Clone(l.Items)
	return &copied
}

func newGadget(edits ...func(*gadget)) *gadget {
	g := &gadget{}
	g.SetGroupVersionKind(gadgetGVK)
	g.Namespace, g.Name, g.UID, g.Generation = app.Namespace, app.Name, "u1", 1
	for _, edit := range edits {
		edit(g)
	}
	return g
}

// table implements States.
type table struct {
	mu    sync.Mutex
	known map[types.NamespacedName]*State
}

func newTable() *table { return &table{known: map[types.NamespacedName]*State{}} }

func (t *table) Of(name types.NamespacedName) *State {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known[name] == nil {
		t.known[name] = &State{}
	}
	return t.known[name]
}

func (t *table) Known(name types.NamespacedName) *State {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.known[name]
}

// cluster is a fake API server with a cache, and the objects under test that use it.
type cluster struct {
	t *testing.T
	// server handles all writes and the reads of Live. cached is the component that Load gets from the cache. If it is
	// nil, Load reads from server.
	server client.WithWatch
	cached *gadget
	// beforeStatus and beforePatch are called before each write.
	beforeStatus, beforePatch func()
	// older makes the definition of gadgets older than the record, so that the API server drops its number, its checksum
	// and the name of its Secrets. The response is decoded into the sent object, which keeps them.
	older bool
	// afterPatch is called with the result of each patch, before the caller has the response.
	afterPatch func(client.Object)
	// asked is the number of requests for the cluster id, and statuses is the number of writes of a status.
	asked, statuses int
	written         []types.NamespacedName
	previous        []manifests.Owner
	// woken is the number of calls of Wake.
	woken int

	states *table
	store  *Store
	passes *Passes
	owners *Owners
}

func newCluster(t *testing.T, objects ...client.Object) *cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(gadgetGVK, &gadget{})
	scheme.AddKnownTypeWithName(gadgetGVK.GroupVersion().WithKind("GadgetList"), &gadgetList{})
	metav1.AddToGroupVersion(scheme, gadgetGVK.GroupVersion())
	c := &cluster{
		t: t, states: newTable(), beforeStatus: func() {}, beforePatch: func() {},
		afterPatch: func(client.Object) {},
	}
	c.server = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&gadget{}).Build()
	requests := interceptor.Funcs{
		Get: func(
			ctx context.Context, server client.WithWatch, key client.ObjectKey, into client.Object, _ ...client.GetOption,
		) error {
			if g, ok := into.(*gadget); ok && c.cached != nil {
				copied, _ := c.cached.DeepCopyObject().(*gadget)
				*g = *copied
				return nil
			}
			return server.Get(ctx, key, into)
		},
		Patch: func(
			ctx context.Context, server client.WithWatch, obj client.Object, patch client.Patch, _ ...client.PatchOption,
		) error {
			c.beforePatch()
			err := server.Patch(ctx, obj, patch)
			c.afterPatch(obj)
			return err
		},
		SubResourceUpdate: func(
			ctx context.Context, server client.Client, _ string, obj client.Object, _ ...client.SubResourceUpdateOption,
		) error {
			c.beforeStatus()
			c.statuses++
			g, ok := obj.(*gadget)
			if !c.older || !ok {
				return server.Status().Update(ctx, obj)
			}
			stored, _ := g.DeepCopyObject().(*gadget)
			stored.Status.InventoryWrites, stored.Status.RecordDigest, stored.Status.InventoryRecord = 0, "", nil
			err := server.Status().Update(ctx, stored)
			g.ResourceVersion, g.ManagedFields = stored.ResourceVersion, ownedBy(map[string]string{reconciler: ownsInventory})
			return err
		},
	}
	live := interceptor.NewClient(c.server, interceptor.Funcs{Get: func(
		ctx context.Context, server client.WithWatch, key client.ObjectKey, into client.Object, _ ...client.GetOption,
	) error {
		if _, ok := into.(*gadget); ok {
			return server.Get(ctx, key, into)
		}
		c.asked++
		into.SetUID("cluster")
		return nil
	}})
	options := Options{
		Name: reconciler, Finalizers: FinalizersOf(reconciler), GVK: gadgetGVK,
		New:    func() (Object, error) { return &gadget{}, nil },
		Client: interceptor.NewClient(c.server, requests), Reader: live, States: c.states,
		StatusWritten: func(name types.NamespacedName, _ *metav1alpha1.Status) { c.written = append(c.written, name) },
		NeedsPass:     func(before, after client.Object) bool { return NeedsPass(before, after, FinalizersOf(reconciler)) },
		Wake:          func(types.NamespacedName) { c.woken++ },
		OwnerChanged:  func(previous manifests.Owner) { c.previous = append(c.previous, previous) },
	}
	c.owners, c.passes = NewOwners(options), NewPasses(c.states)
	c.store = NewStore(options, c.owners, c.passes)
	return c
}

// load returns the component that Store.Load returns.
func (c *cluster) load() *gadget {
	c.t.Helper()
	loaded, err := c.store.Load(c.t.Context(), app)
	if err != nil {
		c.t.Fatal(err)
	}
	g, ok := loaded.(*gadget)
	if !ok {
		c.t.Fatalf("Store.Load returned a %T, want a *gadget", loaded)
	}
	return g
}

// stored returns the component that the API server has stored.
func (c *cluster) stored() *gadget {
	c.t.Helper()
	g := &gadget{}
	if err := c.server.Get(c.t.Context(), app, g); err != nil {
		c.t.Fatal(err)
	}
	return g
}

// edit changes the stored component, as another client would.
func (c *cluster) edit(change func(*gadget)) {
	c.t.Helper()
	g := c.stored()
	change(g)
	if err := c.server.Update(c.t.Context(), g); err != nil {
		c.t.Fatal(err)
	}
}

// editStatus changes the stored status, as another client would.
func (c *cluster) editStatus(change func(*gadget)) {
	c.t.Helper()
	g := c.stored()
	change(g)
	if err := c.server.Status().Update(c.t.Context(), g); err != nil {
		c.t.Fatal(err)
	}
}
