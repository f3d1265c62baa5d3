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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Observer watches the dependents of all components of one reconciler in one target. It is safe for concurrent use.
type Observer struct {
	reconciler   string
	self         Viewer
	mapper       meta.RESTMapper
	verbs        func(schema.GroupVersionResource) ([]string, error)
	lifetime     context.Context
	whole        map[schema.GroupKind]bool
	perNamespace bool

	mu      sync.Mutex
	kinds   sights
	types   map[typeSight]*instances
	owners  map[string]*owner
	writing map[manifests.Key]*write
	// awaited are the objects of somebody else that owners want.
	awaited map[manifests.Key]*contest
	// unserved are the watches on types that are not served.
	unserved map[retrier]bool
	// followDefinitions starts the watch on definitions, and stopDefinitions ends it; the latter is nil while there is none.
	followDefinitions func(context.Context)
	stopDefinitions   context.CancelFunc
}

// Options are what an Observer needs.
type Options struct {
	// Reconciler is the reconciler's name: the prefix of the owner label, and the manager whose fields are ours.
	Reconciler string
	Dynamic    dynamic.Interface
	Metadata   metadata.Interface
	Mapper     meta.RESTMapper
	// Verbs asks the API server which verbs a type supports.
	Verbs func(schema.GroupVersionResource) ([]string, error)
	// Whole are the kinds whose objects are kept as they are, not only the facts of them.
	Whole []schema.GroupKind
	// PerNamespace watches dependents in each namespace where there are some, instead of in all namespaces at once.
	PerNamespace bool
}

// New returns an Observer whose watches live as long as ctx.
func New(ctx context.Context, o Options) *Observer {
	observer := &Observer{
		reconciler: o.Reconciler, self: Viewer{Dynamic: o.Dynamic, Metadata: o.Metadata}, mapper: o.Mapper, verbs: o.Verbs, lifetime: ctx,
		perNamespace: o.PerNamespace,
		whole:        map[schema.GroupKind]bool{},
		kinds:        sights{},
		types:        map[typeSight]*instances{},
		owners:       map[string]*owner{},
		writing:      map[manifests.Key]*write{},
		awaited:      map[manifests.Key]*contest{},
		unserved:     map[retrier]bool{},
	}
	for _, gk := range o.Whole {
		observer.whole[gk] = true
	}
	observer.followDefinitions = func(ctx context.Context) {
		FollowDefinitions(ctx, observer.self.Metadata, observer.retry, func() {})
	}
	return observer
}

// Snapshot returns the state of objects whose places are retained, as the watches of a viewer have it at this moment. The answer to a write
// is part of it as soon as that write is done.
func (o *Observer) Snapshot(viewer Viewer, keys []manifests.Key) plan.Snapshot {
	snapshot := make(plan.Snapshot, len(keys))
	o.mu.Lock()
	defer o.mu.Unlock()
	absent := &plan.Observed{Presence: plan.Absent}
	for _, key := range keys {
		snapshot[key] = o.live(viewer, key, absent)
	}
	return snapshot
}

// live returns the state of an object, and absent where the watch does not show it. A stored state is replaced, never changed, so it may
// be read without the lock. The caller holds the lock.
func (o *Observer) live(viewer Viewer, key manifests.Key, absent *plan.Observed) *plan.Observed {
	k := o.kinds[o.PlaceOf(key)][viewer.Name]
	switch {
	case k == nil:
		return new(plan.NotObserved())
	case k.reason != plan.WaitNone:
		return &plan.Observed{Presence: plan.Unknown, Reason: k.reason, Message: k.message}
	}
	if stored, ok := k.records[key]; ok {
		return stored
	}
	return absent
}

// Unwatched is a type whose objects are read, because they cannot be watched.
type Unwatched struct {
	Type schema.GroupKind
	// Message says why.
	Message string
}

// Unwatched returns the types that an owner retains and that cannot be watched, in the order of their names. Of several namespaces where
// that is so the message tells of the first, and how many more there are.
func (o *Observer) Unwatched(ownerID string) []Unwatched {
	o.mu.Lock()
	defer o.mu.Unlock()
	own := o.owners[ownerID]
	if own == nil {
		return nil
	}
	places := slices.SortedFunc(maps.Keys(own.places), func(a, b Place) int {
		return cmp.Or(strings.Compare(a.Type.String(), b.Type.String()), strings.Compare(a.Namespace, b.Namespace))
	})
	var found []Unwatched
	more := map[schema.GroupKind]int{}
	for _, p := range places {
		k := o.kinds[p][own.viewer.Name]
		switch last := len(found) - 1; {
		case k == nil || k.reason != plan.WaitUnwatched:
		case last >= 0 && found[last].Type == p.Type:
			more[p.Type]++
		default:
			found = append(found, Unwatched{Type: p.Type, Message: k.message})
		}
	}
	for i, u := range found {
		if n := more[u.Type]; n > 0 {
			found[i].Message += fmt.Sprintf("; and so in other namespaces (%d)", n)
		}
	}
	return found
}

// Synced says whether the first list of all that the owner retains was answered, or refused.
func (o *Observer) Synced(ownerID string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	own := o.owners[ownerID]
	if own == nil {
		return false
	}
	for p := range own.places {
		if k := o.kinds[p][own.viewer.Name]; k == nil || k.reason == plan.WaitObserving {
			return false
		}
	}
	for gk := range own.types {
		if t := o.types[typeSight{own.viewer.Name, gk}]; t == nil || t.reason == plan.WaitObserving {
			return false
		}
	}
	return true
}
