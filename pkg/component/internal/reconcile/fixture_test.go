package reconcile

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources"
	"github.com/fairlead-io/fairlead/pkg/component/internal/input"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/component/internal/rendering"
	"github.com/fairlead-io/fairlead/pkg/component/internal/schedule"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/component/internal/telemetry"
	"github.com/fairlead-io/fairlead/pkg/component/internal/tracing"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const reconciler = "parts.example.com"

var (
	web     = types.NamespacedName{Namespace: "shop", Name: "web"}
	partGVK = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Part"}
	start   = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	owner   = manifests.Owner{
		Cluster: "here", Reconciler: reconciler, Group: "example.com", Kind: "Part", Namespace: "shop", Name: "web",
	}
	finalizer = components.Finalizer(reconciler)
	errOh     = errors.New("oh")
)

// part is the component type of the tests.
type part struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec   partSpec            `json:"spec,omitzero"`
	Status metav1alpha1.Status `json:"status,omitzero"`
}

type partSpec struct {
	Suspend bool `json:"suspend,omitempty"`
}

func (p *part) GetStatus() *metav1alpha1.Status { return &p.Status }

func (p *part) Suspended() bool { return p.Spec.Suspend }

func (p *part) DeepCopyObject() runtime.Object {
	copied := *p
	copied.ObjectMeta = *p.DeepCopy()
	copied.Status = *p.Status.DeepCopy()
	return &copied
}

// world is a Runner whose ports are fakes: they log their calls, and return the results that the test sets.
type world struct {
	*Runner
	t      *testing.T
	server client.WithWatch
	clock  *clocktesting.FakePassiveClock
	// steps is the log of the calls since the last check. fails contains the errors that calls return, by the name of the
	// step.
	steps []string
	fails map[string]error
	// beforeStatus is called before each write of a status.
	beforeStatus func() error

	// The results of the ports.
	target   target.Target
	declared Declared
	needs    Needs
	inputs   input.Inputs
	loaded   Loaded
	// recovered is the inventory that Load recovers, nil if the recorded one is not lost.
	recovered []metav1alpha1.InventoryEntry
	set       rendering.Set
	last      *rendering.Set
	outcome   outcome.Outcome
	phases    []status.Event
	hooks     map[Point][]Hook

	// rendering is the argument of the last call of Render.
	rendering rendering.Request
	// request is the argument of the last call of Apply or Delete. deletedBy is the client that the last call of Delete
	// received. The fakes of Apply and Delete call inApply.
	request   applier.Request
	inApply   func(context.Context, applier.Request) error
	deletedBy *target.Client
	events    []status.Event
	woken     []types.NamespacedName
	forgotten []types.NamespacedName
	// sources are the components whose fetched sources were dropped.
	sources []types.NamespacedName
	stopped []manifests.Owner
}

// fakeSources implements Sources.
type fakeSources struct{ *world }

func (fakeSources) BeginPass(types.NamespacedName) func() { return func() {} }

func (s fakeSources) ForgetSource(name types.NamespacedName) { s.sources = append(s.sources, name) }

// newWorld returns a world with one component. The functions edits change the component before it is stored.
func newWorld(t *testing.T, edits ...func(*part)) *world {
	t.Helper()
	p := &part{}
	p.SetGroupVersionKind(partGVK)
	p.Namespace, p.Name, p.UID, p.Generation = web.Namespace, web.Name, "u", 1
	for _, edit := range edits {
		edit(p)
	}
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(partGVK, &part{})
	metav1.AddToGroupVersion(scheme, partGVK.GroupVersion())
	w := &world{
		t: t, fails: map[string]error{}, hooks: map[Point][]Hook{}, clock: clocktesting.NewFakePassiveClock(start),
		inputs:       input.Inputs{Declaration: input.Declaration{Namespace: "shop", Name: "web"}, Digest: "inputs"},
		beforeStatus: func() error { return nil }, inApply: func(context.Context, applier.Request) error { return nil },
		server: fake.NewClientBuilder().WithScheme(scheme).WithObjects(p).WithStatusSubresource(&part{}).Build(),
	}
	connection := &target.Connection{Lookups: observe.NewReferences(t.Context(), nil, reconciler)}
	own := &target.Client{Connection: connection}
	w.target = target.Target{Client: own, Local: own}
	states := &States{}
	options := components.Options{
		Name: reconciler, Finalizers: components.FinalizersOf(reconciler), GVK: partGVK,
		New:    func() (components.Object, error) { return &part{}, nil },
		Client: w.client(), Reader: w.client(), States: states.Objects(), StatusWritten: states.StatusWritten,
		NeedsPass: func(client.Object, client.Object) bool { return false }, OwnerChanged: func(manifests.Owner) {},
	}
	passes := components.NewPasses(options.States)
	w.Runner = &Runner{
		Pass: Pass{
			Ports: Ports{
				Owners: fakeOwners{w}, Targets: fakeTargets{w}, Inputs: fakeInputs{w}, Inventory: fakeInventory{w},
				Rendering: fakeRendering{w}, Applier: fakeApplier{w}, Records: fakeRecords{w},
				EventSources: eventsources.Fixed(nil), InFlight: passes,
				Store: components.NewStore(options, components.NewOwners(options), passes),
				Tell: func(_ components.Object, e status.Event) {
					if e.Type != "" {
						w.events = append(w.events, e)
					}
				},
			},
			Reconciler: reconciler, Finalizers: components.FinalizersOf(reconciler), Author: fakeAuthor{w},
			Metrics: telemetry.NewPassMetrics(reconciler, tracing.New(nil, reconciler), true), Clock: w.clock,
			Wake: func(name types.NamespacedName) { w.woken = append(w.woken, name) },
		},
		Sources: fakeSources{w}, States: states, Kind: "Part", Forgetters: &Forgetters{},
	}
	w.Forgetters.OfComponent(states.Forget)
	w.Forgetters.OfComponent(func(name types.NamespacedName) { w.forgotten = append(w.forgotten, name) })
	w.Forgetters.OfOwner(func(o manifests.Owner) { w.stopped = append(w.stopped, o) })
	return w
}

// client returns a client of the server that logs each write of finalizers and of a status.
func (w *world) client() client.Client {
	return interceptor.NewClient(w.server, interceptor.Funcs{
		Get: func(
			ctx context.Context, server client.WithWatch, key client.ObjectKey, into client.Object, _ ...client.GetOption,
		) error {
			if _, ok := into.(*part); ok {
				return server.Get(ctx, key, into)
			}
			into.SetUID("here")
			return nil
		},
		Patch: func(
			ctx context.Context, server client.WithWatch, obj client.Object, patch client.Patch, _ ...client.PatchOption,
		) error {
			if err := w.step("change the finalizers"); err != nil {
				return err
			}
			return server.Patch(ctx, obj, patch)
		},
		SubResourceUpdate: func(
			ctx context.Context, server client.Client, _ string, obj client.Object, _ ...client.SubResourceUpdateOption,
		) error {
			if err := errors.Join(w.step("write the status"), w.beforeStatus()); err != nil {
				return err
			}
			return server.Status().Update(ctx, obj)
		},
	})
}

// step logs a call, and returns the error that the test set for this step.
func (w *world) step(name string) error {
	w.steps = append(w.steps, name)
	return w.fails[name]
}

// expect compares the logged calls with want, and clears the log.
func (w *world) expect(want ...string) {
	w.t.Helper()
	if !slices.Equal(w.steps, want) {
		w.t.Errorf("the pass made the calls %q, want %q", w.steps, want)
	}
	w.steps = nil
}

// component returns the stored component as a pass gets it.
func (w *world) component() *Component {
	w.t.Helper()
	return &Component{Object: w.stored(), Declared: w.declared, State: w.States.Of(web)}
}

// stored reads the component from the API server.
func (w *world) stored() *part {
	w.t.Helper()
	p := &part{}
	if err := w.server.Get(w.t.Context(), web, p); err != nil {
		w.t.Fatal(err)
	}
	return p
}

// reconcile makes a pass. The test fails if the pass returns an error.
func (w *world) reconcile() time.Duration {
	w.t.Helper()
	after, err := w.Reconcile(w.t.Context(), web)
	if err != nil {
		w.t.Fatal(err)
	}
	return after
}

// ready returns the condition Ready of the stored component.
func (w *world) ready() metav1.Condition {
	w.t.Helper()
	for _, c := range w.stored().Status.Conditions {
		if c.Type == "Ready" {
			return c
		}
	}
	return metav1.Condition{}
}

// hook adds hooks that log their calls.
func (w *world) hook(points ...Point) {
	for _, point := range points {
		w.hooks[point] = append(w.hooks[point], func(context.Context, components.Object, DependentReader, Result) error {
			return w.step("hook " + string(point))
		})
	}
}

// deleted changes the component to one that is being deleted and has our finalizer.
func deleted(p *part) {
	p.DeletionTimestamp = new(metav1.NewTime(start))
	p.Finalizers = append(p.Finalizers, finalizer)
	p.Status.Reconciler = reconciler
}

// withRecord adds a recorded dependent to the status of the component.
func withRecord(p *part) {
	p.Finalizers = append(p.Finalizers, finalizer)
	p.Status.Reconciler, p.Status.Revision, p.Status.InputDigest = reconciler, 1, "inputs"
	p.Status.TargetNamespace, p.Status.TargetName = "shop", "web"
	p.Status.Inventory = []string{settings.String()}
	p.Status.InventoryDigest = components.InventoryDigest(p.Status.Inventory)
}

// settings is the inventory entry of the recorded dependent.
var settings = metav1alpha1.InventoryEntry{
	Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings", UID: "1", Digest: "d", Revision: 1,
}

// rendered is the manifest of the dependent settings.
var rendered = manifests.Object{
	Key: manifests.Key{Kind: "ConfigMap", Namespace: "shop", Name: "settings"}, Version: "v1", Digest: "d",
}

type fakeAuthor struct{ w *world }

func (a fakeAuthor) Declare(components.Object) Declared { return a.w.declared }

func (a fakeAuthor) Needs(components.Object) Needs { return a.w.needs }

func (a fakeAuthor) Intervals(components.Object) schedule.Intervals {
	return schedule.Intervals{Retry: time.Minute, Timeout: 10 * time.Minute}
}

func (a fakeAuthor) Validate(components.Object) error { return a.w.step("validate") }

func (a fakeAuthor) Inputs(components.Object) (input.Declaration, error) {
	return a.w.inputs.Declaration, a.w.step("declare")
}

func (a fakeAuthor) Hooks(point Point) []Hook { return a.w.hooks[point] }

func (a fakeAuthor) ConditionParameters(
	context.Context, components.Object, func() (generator.Request, error),
) (map[string]any, error) {
	return nil, nil
}

func (a fakeAuthor) Condition(components.Object, string, *unstructured.Unstructured) ready.Result {
	return ready.Result{State: ready.Ready}
}

type fakeOwners struct{ w *world }

func (o fakeOwners) Of(context.Context, components.Object) (manifests.Owner, error) {
	return owner, o.w.step("owner")
}

func (o fakeOwners) VerifyCluster(context.Context, types.NamespacedName) error {
	return o.w.step("verify")
}

func (o fakeOwners) Known(types.NamespacedName) manifests.Owner { return owner }

type fakeTargets struct{ w *world }

func (f fakeTargets) Acquire(_ context.Context, r target.Request) (target.Target, error) {
	if r.Owner != owner || r.Name != web {
		f.w.t.Errorf("the request has the wrong owner or name: %+v", r)
	}
	return f.w.target, f.w.step("target")
}

type fakeInputs struct{ w *world }

func (f fakeInputs) Read(
	_ context.Context, _ types.NamespacedName, _ input.Declaration, _ target.Target, known input.Contents,
) (input.Inputs, input.Contents, error) {
	return f.w.inputs, known, f.w.step("inputs")
}

type fakeRendering struct{ w *world }

func (f fakeRendering) Render(_ context.Context, r rendering.Request) (rendering.Set, error) {
	if r.Records == nil || r.Status == nil {
		f.w.t.Errorf("the request has no records or no status: %+v", r)
	}
	f.w.rendering = r
	return f.w.set, f.w.step("render")
}

func (f fakeRendering) Last(types.NamespacedName, *metav1alpha1.Status, string) (rendering.Set, bool) {
	if f.w.last == nil {
		return rendering.Set{}, false
	}
	return *f.w.last, true
}

func (f fakeRendering) Drop(types.NamespacedName) { _ = f.w.step("drop the set") }

type fakeApplier struct{ w *world }

func (f fakeApplier) Count(*target.Client, applier.Request) (outcome.Outcome, bool) {
	return outcome.Outcome{}, false
}

func (f fakeApplier) Apply(ctx context.Context, _ *target.Client, r applier.Request) (outcome.Outcome, error) {
	f.w.request = r
	return f.w.outcome, errors.Join(f.w.step("apply"), f.w.inApply(ctx, r))
}

func (f fakeApplier) Delete(ctx context.Context, c *target.Client, r applier.Request) (outcome.Outcome, error) {
	f.w.request, f.w.deletedBy = r, c
	return f.w.outcome, errors.Join(f.w.step("delete"), f.w.inApply(ctx, r))
}

type fakeInventory struct{ w *world }

func (f fakeInventory) Load(_ context.Context, c *Component, _ manifests.Owner, _ target.Target) (Loaded, error) {
	if f.w.recovered != nil {
		f.w.loaded.Entries = f.w.recovered
		enter(c, f.w.recovered)
	}
	return f.w.loaded, f.w.step("load")
}

func (f fakeInventory) Recorded(context.Context, *Component, manifests.Owner) ([]metav1alpha1.InventoryEntry, error) {
	return f.w.loaded.Entries, f.w.step("recorded")
}

func (f fakeInventory) ProtectKubeconfig(context.Context, *Component, manifests.Owner) error {
	return f.w.step("protect the kubeconfig")
}

func (f fakeInventory) CheckKubeconfig(*Component, manifests.Owner, target.Target) {
	_ = f.w.step("check the kubeconfig")
}

func (f fakeInventory) Announce(context.Context, *Component, rendering.Set) error { return nil }

func (f fakeInventory) Begun(context.Context, *Component, manifests.Owner, rendering.Set) error {
	return f.w.fails["begun"]
}

func (f fakeInventory) Begin(context.Context, *Component, manifests.Owner, rendering.Set) error {
	return f.w.step("begin")
}

func (f fakeInventory) WriteInventory(
	_ context.Context, c *Component, _ components.InventoryRef, entries []metav1alpha1.InventoryEntry,
) error {
	if err := f.w.step("record"); err != nil {
		return err
	}
	enter(c, entries)
	return nil
}

// enter enters an inventory into the status of a component.
func enter(c *Component, entries []metav1alpha1.InventoryEntry) {
	s := c.GetStatus()
	s.Inventory = nil
	for _, e := range entries {
		s.Inventory = append(s.Inventory, e.String())
	}
	s.InventoryDigest = components.InventoryDigest(s.Inventory)
}

func (f fakeInventory) Phases(
	context.Context, *Component, applier.Request, target.Target,
) (pre, post []manifests.Object, events []status.Event, err error) {
	return []manifests.Object{{Version: "pre"}}, []manifests.Object{{Version: "post"}}, f.w.phases, f.w.step("phases")
}

type fakeRecords struct{ w *world }

func (f fakeRecords) DeleteStale(context.Context, *Component) error { return f.w.step("delete stale") }

func (f fakeRecords) End(context.Context, *Component, manifests.Owner) error {
	return f.w.step("end the records")
}

func (f fakeRecords) RememberOwned(*Component) { _ = f.w.step("remember owned") }

func (f fakeRecords) ReleaseLeft(context.Context, types.NamespacedName, types.UID) error {
	return f.w.step("release left")
}

func (f fakeRecords) ReleaseVanished(context.Context, types.NamespacedName) error {
	return f.w.step("release vanished")
}

// unreachable is the configuration of an API server that does not exist.
func unreachable() *rest.Config { return &rest.Config{Host: "http://127.0.0.1:1"} }
