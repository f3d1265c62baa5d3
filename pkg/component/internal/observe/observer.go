package observe

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Observer watches the dependents of all components of one reconciler in one target. It is safe for concurrent use.
type Observer struct {
	reconciler  string
	view        inspect.View
	listWatches listWatches
	lifetime    context.Context
	withBodies  map[schema.GroupKind]bool

	// mu protects the fields below and all watches.
	mu          sync.Mutex
	components  components
	dependents  watchIndex
	instances   map[instanceWatchKey]*instanceWatch
	writes      map[manifests.Key]*write
	handovers   map[manifests.Key]*handover
	definitions definitionWatch
}

// Options configure an Observer.
type Options struct {
	// Reconciler is the reconciler's name. It is the prefix of the owner label, and the field manager of all writes.
	Reconciler string
	// View reduces objects to facts.
	View     inspect.View
	Dynamic  dynamic.Interface
	Metadata metadata.Interface
	Mapper   meta.RESTMapper
	// Verbs returns the verbs that discovery lists for a resource. If a type can be neither listed nor watched, but
	// supports get, its objects are read one by one. If Verbs is nil, the objects of such a type are not read.
	Verbs func(schema.GroupVersionResource) ([]string, error)
	// WithBodies are the types whose objects are stored as a whole, so that Body can return them.
	WithBodies []schema.GroupKind
	// PerNamespace starts a separate watch for each namespace with dependents, instead of one watch for all namespaces.
	PerNamespace bool
}

// New returns an Observer whose watches end with ctx.
func New(ctx context.Context, options Options) *Observer {
	view := options.View.Of(options.Reconciler)
	view.Allowance = inspect.NewAllowance(clock.RealClock{}.Now)
	o := &Observer{
		reconciler: options.Reconciler, view: view,
		listWatches: listWatches{
			self:   Reader{Dynamic: options.Dynamic, Metadata: options.Metadata},
			mapper: options.Mapper, verbs: options.Verbs,
		},
		lifetime:   ctx,
		withBodies: map[schema.GroupKind]bool{},
		components: components{},
		dependents: newWatchIndex(options.PerNamespace),
		instances:  map[instanceWatchKey]*instanceWatch{},
		writes:     map[manifests.Key]*write{},
		handovers:  map[manifests.Key]*handover{},
	}
	for _, gk := range options.WithBodies {
		o.withBodies[gk] = true
	}
	retryUnserved := func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.definitions.retryUnserved()
	}
	o.definitions = definitionWatch{
		lifetime: ctx, unserved: map[*watchState]bool{},
		start: func(ctx context.Context) { WatchDefinitions(ctx, options.Metadata, retryUnserved, func() {}) },
	}
	return o
}

// Snapshot returns the current state of objects according to the watches of a reader. It includes the response to each
// write that has ended. Objects whose type the reader does not watch are Unknown.
func (o *Observer) Snapshot(reader Reader, keys []manifests.Key) plan.Snapshot {
	snapshot := make(plan.Snapshot, len(keys))
	o.mu.Lock()
	defer o.mu.Unlock()
	absent := &plan.Observed{Presence: plan.Absent}
	for _, key := range keys {
		snapshot[key] = o.dependents.state(reader, key, absent)
	}
	return snapshot
}

// SnapshotFor is Snapshot for the reader of a component. An absent object that the component awaits has the owner that
// may create it again; see AwaitHandover.
func (o *Observer) SnapshotFor(ownerID string, reader Reader, keys []manifests.Key) plan.Snapshot {
	snapshot := o.Snapshot(reader, keys)
	o.mu.Lock()
	defer o.mu.Unlock()
	c := o.components[ownerID]
	if c == nil {
		return snapshot
	}
	for key := range c.awaits {
		h, state := o.handovers[key], snapshot[key]
		if state != nil && state.Presence == plan.Absent && h.reserved(o.components) {
			reserved := *state
			reserved.Owner, reserved.OwnerName = h.owner.ID, h.owner.Name
			snapshot[key] = &reserved
		}
	}
	return snapshot
}

// Body returns a copy of a whole object, if Options.WithBodies contains its type. The copy has the resource version
// that Snapshot returns for the same reader. Body returns nil if no whole object with this version has arrived by the
// watch, or in the response to a write.
func (o *Observer) Body(reader Reader, key manifests.Key) *unstructured.Unstructured {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := o.dependents.watch(reader, o.dependents.resourceOf(key))
	if w == nil || w.reason != plan.WaitNone {
		return nil
	}
	observed, body := w.objects.observed[key], w.objects.bodies[key]
	if body == nil || !w.objects.present(key) || observed.ResourceVersion != body.GetResourceVersion() {
		return nil
	}
	return body.DeepCopy()
}

// ResourceOf returns the watched resource that contains an object.
func (o *Observer) ResourceOf(key manifests.Key) WatchedResource { return o.dependents.resourceOf(key) }

// Unwatched is a type whose objects are read one by one, because they cannot be watched.
type Unwatched struct {
	Type schema.GroupKind
	// Message is the reason why the type cannot be watched.
	Message string
}

// Unwatched returns the types of a component's dependents that cannot be watched, sorted by name. If a type cannot be
// watched in several namespaces, the message describes the first namespace and contains the number of the other
// namespaces.
func (o *Observer) Unwatched(ownerID string) []Unwatched {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := o.components[ownerID]
	if c == nil {
		return nil
	}
	resources := slices.SortedFunc(maps.Keys(c.resources), func(a, b WatchedResource) int {
		return cmp.Or(strings.Compare(a.Type.String(), b.Type.String()), strings.Compare(a.Namespace, b.Namespace))
	})
	var found []Unwatched
	more := map[schema.GroupKind]int{}
	for _, r := range resources {
		w := o.dependents.watch(c.reader, r)
		switch last := len(found) - 1; {
		case w == nil || w.reason != plan.WaitUnwatched:
		case last >= 0 && found[last].Type == r.Type:
			more[r.Type]++
		default:
			found = append(found, Unwatched{Type: r.Type, Message: w.message})
		}
	}
	for i, u := range found {
		if n := more[u.Type]; n > 0 {
			found[i].Message += fmt.Sprintf("; other namespaces affected: %d", n)
		}
	}
	return found
}

// Synced reports whether each watch of a component is in sync or has failed.
func (o *Observer) Synced(ownerID string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := o.components[ownerID]
	if c == nil {
		return false
	}
	for r := range c.resources {
		if w := o.dependents.watch(c.reader, r); w == nil || w.reason == plan.WaitObserving {
			return false
		}
	}
	for gk := range c.instances {
		if w := o.instances[instanceWatchKey{c.reader.Name, gk}]; w == nil || w.reason == plan.WaitObserving {
			return false
		}
	}
	return true
}
