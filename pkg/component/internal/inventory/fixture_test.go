package inventory

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records/secretstest"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const reconciler = "parts.example.com"

var (
	app     = types.NamespacedName{Namespace: "shop", Name: "app"}
	partGVK = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Part"}
	start   = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
)

// part is a component.
type part struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Status metav1alpha1.Status `json:"status,omitzero"`
}

func (p *part) GetStatus() *metav1alpha1.Status { return &p.Status }

func (p *part) DeepCopyObject() runtime.Object {
	copied := *p
	copied.ObjectMeta = *p.DeepCopy()
	copied.Status = *p.Status.DeepCopy()
	return &copied
}

// states implements States.
type states map[types.NamespacedName]*State

func (m states) Of(name types.NamespacedName) *State {
	if m[name] == nil {
		m[name] = &State{}
	}
	return m[name]
}

func (m states) Known(name types.NamespacedName) *State { return m[name] }

// componentMemories implements components.States.
type componentMemories map[types.NamespacedName]*components.State

func (m componentMemories) Of(name types.NamespacedName) *components.State {
	if m[name] == nil {
		m[name] = &components.State{}
	}
	return m[name]
}

func (m componentMemories) Known(name types.NamespacedName) *components.State { return m[name] }

// cluster is a fake API server with one component, and the Store that a test calls.
type cluster struct {
	t *testing.T
	*secretstest.Server
	server client.Client
	// ending are the namespaces that are being deleted.
	ending []string
	states states
	store  *Store
	passes *components.Passes
	// statuses counts the writes of a status. If beforeStatus is not nil, it is called before each of them.
	statuses     int
	beforeStatus func() error
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(partGVK, &part{})
	metav1.AddToGroupVersion(scheme, partGVK.GroupVersion())
	p := &part{}
	p.SetGroupVersionKind(partGVK)
	p.Namespace, p.Name, p.UID = app.Namespace, app.Name, "u"
	c := &cluster{t: t, Server: secretstest.New()}
	server := fake.NewClientBuilder().WithScheme(scheme).WithObjects(p).WithStatusSubresource(&part{}).Build()
	c.server = interceptor.NewClient(server, interceptor.Funcs{
		Get: func(
			ctx context.Context, server client.WithWatch, key client.ObjectKey, into client.Object, _ ...client.GetOption,
		) error {
			if _, ok := into.(*part); ok {
				return server.Get(ctx, key, into)
			}
			into.SetUID("cluster")
			return nil
		},
		SubResourceUpdate: func(
			ctx context.Context, server client.Client, _ string, obj client.Object, _ ...client.SubResourceUpdateOption,
		) error {
			c.statuses++
			if c.beforeStatus != nil {
				if err := c.beforeStatus(); err != nil {
					return err
				}
			}
			return server.Status().Update(ctx, obj)
		},
	})
	c.restart()
	return c
}

// restart simulates a restart of the process: it replaces the store and empties the states.
func (c *cluster) restart() {
	c.states = states{}
	options := components.Options{
		Name: reconciler, Finalizers: components.FinalizersOf(reconciler), GVK: partGVK,
		New:    func() (components.Object, error) { return &part{}, nil },
		Client: c.server, Reader: c.server, States: componentMemories{},
		StatusWritten: func(name types.NamespacedName, st *metav1alpha1.Status) { c.states.Of(name).StatusWritten(st) },
		OwnerChanged:  func(manifests.Owner) {},
	}
	owners, passes := components.NewOwners(options), components.NewPasses(options.States)
	c.passes = passes
	c.store = NewStore(Options{
		Reconciler: reconciler, Finalizers: components.FinalizersOf(reconciler), StatusBytes: 256 << 10, Owners: owners,
		States:     c.states,
		Components: components.NewStore(options, owners, passes),
		Records: records.NewStore(records.Options{
			Reconciler: reconciler, Namespace: "operator", Dynamic: c.Dynamic(), Metadata: c.Metadata(),
			NamespaceGoes: func(_ context.Context, namespace string) bool { return slices.Contains(c.ending, namespace) },
			VerifyCluster: owners.VerifyCluster, Clock: clocktesting.NewFakePassiveClock(start),
		}),
	})
	if _, err := owners.ClusterID(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
}

// load returns the stored component.
func (c *cluster) load() *part {
	c.t.Helper()
	p := &part{}
	if err := c.server.Get(c.t.Context(), app, p); err != nil {
		c.t.Fatal(err)
	}
	return p
}

// edit changes the stored status as another client would.
func (c *cluster) edit(change func(*metav1alpha1.Status)) {
	c.t.Helper()
	p := c.load()
	change(&p.Status)
	if err := c.server.Status().Update(c.t.Context(), p); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) owner() manifests.Owner { return c.store.Owners.Known(app) }

// write writes an inventory and the status, as a pass does.
func (c *cluster) write(inventory []metav1alpha1.InventoryEntry) *part {
	c.t.Helper()
	p := c.load()
	recorded := components.RefOf(p.GetStatus())
	p.Status.Reconciler = reconciler
	if err := c.store.Write(c.t.Context(), p, recorded, inventory); err != nil {
		c.t.Fatal(err)
	}
	if err := c.store.Components.WriteStatus(c.t.Context(), p, recorded); err != nil {
		c.t.Fatal(err)
	}
	return p
}

// secretsOf returns the names of the Secrets of a kind.
func (c *cluster) secretsOf(kind records.Kind) []string {
	c.t.Helper()
	all, err := c.store.Records.ListKind(c.t.Context(), c.owner(), kind)
	if err != nil {
		c.t.Fatal(err)
	}
	var names []string
	for _, secret := range all {
		names = append(names, secret.Name)
	}
	return names
}

// refuseLists refuses lists of Secrets with an error.
func (c *cluster) refuseLists(cause error) {
	c.Refuse = func(verb, _ string) error {
		if verb == "list" {
			return cause
		}
		return nil
	}
}

func forbidden() error { return apierrors.NewForbidden(corev1.Resource("secrets"), "", nil) }

func later() error { return apierrors.NewTooManyRequestsError("later") }

// entries returns n inventory entries of objects that were applied.
func entries(n int) []metav1alpha1.InventoryEntry {
	source := rand.New(rand.NewPCG(1, 2))
	found := make([]metav1alpha1.InventoryEntry, 0, n)
	for i := range n {
		found = append(found, metav1alpha1.InventoryEntry{
			Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprintf("settings-%d", i),
			UID:    types.UID(fmt.Sprintf("8f0c1f3e-2d1c-4a52-9b57-%012x", source.Uint64()>>16)),
			Digest: fmt.Sprintf("%016x", source.Uint64()), Fields: fmt.Sprintf("%016x", source.Uint64()), Revision: 1,
		})
	}
	return found
}
