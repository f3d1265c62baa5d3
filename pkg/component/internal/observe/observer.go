package observe

import (
	"context"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Observer watches the dependents of all components of one reconciler in one target. It is safe for concurrent use.
type Observer struct {
	reconciler string
	dynamic    dynamic.Interface
	metadata   metadata.Interface
	mapper     meta.RESTMapper
	verbs      func(schema.GroupVersionResource) ([]string, error)
	lifetime   context.Context
	whole      map[schema.GroupKind]bool

	mu      sync.Mutex
	kinds   map[schema.GroupKind]*kind
	types   map[schema.GroupKind]*instances
	owners  map[string]*owner
	writing map[manifests.Key]*write
	// followDefinitions starts the watch on definitions, and stopDefinitions ends it; the latter is nil while there is none.
	followDefinitions func(context.Context)
	stopDefinitions   context.CancelFunc
}

// owner is a component: what it uses, and how to wake it.
type owner struct {
	kinds map[schema.GroupKind]string
	types map[schema.GroupKind]bool
	wake  func()
}

// write is a write of ours that is under way, with the events that arrived meanwhile.
type write struct {
	count   int
	pending []pendingEvent
	// removed is the resource version in which the object vanished from the watch meanwhile.
	removed string
}

// outlived says that the object vanished after the write that was answered: the answer tells of what is no more.
func (w *write) outlived(answer *plan.Observed) bool {
	return w.removed != "" && inspect.Newer(w.removed, answer.ResourceVersion)
}

type pendingEvent struct {
	owner, resourceVersion string
	// removal says that the object vanished from the watch.
	removal bool
}

// echoes says that an event is that of the write which was answered: it tells its owner nothing new.
func (e pendingEvent) echoes(answer *plan.Observed) bool {
	switch {
	case answer == nil:
		return false
	case answer.Presence == plan.Absent:
		return e.removal
	}
	return e.owner == answer.Owner && e.resourceVersion == answer.ResourceVersion
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
}

// New returns an Observer whose watches live as long as ctx.
func New(ctx context.Context, o Options) *Observer {
	observer := &Observer{
		reconciler: o.Reconciler, dynamic: o.Dynamic, metadata: o.Metadata, mapper: o.Mapper, verbs: o.Verbs, lifetime: ctx,
		whole:   map[schema.GroupKind]bool{},
		kinds:   map[schema.GroupKind]*kind{},
		types:   map[schema.GroupKind]*instances{},
		owners:  map[string]*owner{},
		writing: map[manifests.Key]*write{},
	}
	for _, gk := range o.Whole {
		observer.whole[gk] = true
	}
	observer.followDefinitions = func(ctx context.Context) { FollowDefinitions(ctx, observer.metadata, observer.retry, func() {}) }
	return observer
}

// Retain says which types an owner uses, each with the version to prefer, and how to wake it. It replaces what the owner retained
// before. Watches are started where they are missing and stopped where nobody needs them any more; those that failed try again now.
func (o *Observer) Retain(ownerID string, kinds map[schema.GroupKind]string, wake func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	own := o.owners[ownerID]
	if own == nil {
		own = &owner{}
		o.owners[ownerID] = own
	}
	own.wake = wake
	for gk, version := range kinds {
		k := o.kinds[gk]
		if k == nil {
			k = o.startKind(gk, version)
			o.kinds[gk] = k
		}
		k.version, k.users[ownerID] = version, true
		k.retry()
	}
	o.keep(ownerID, kinds)
}

// Keep says which of the types that an owner retained it uses on. It starts no watch, and makes none try again.
func (o *Observer) Keep(ownerID string, kinds map[schema.GroupKind]string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.owners[ownerID] != nil {
		o.keep(ownerID, kinds)
	}
}

// keep stops the watches on types that an owner used and nobody uses any more. The caller holds the lock.
func (o *Observer) keep(ownerID string, kinds map[schema.GroupKind]string) {
	own := o.owners[ownerID]
	former := own.kinds
	own.kinds = kinds
	for gk := range former {
		if _, uses := kinds[gk]; !uses {
			o.leaveKind(ownerID, gk)
		}
	}
	o.watchDefinitions()
}

// Release forgets an owner.
func (o *Observer) Release(ownerID string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	own := o.owners[ownerID]
	if own == nil {
		return
	}
	delete(o.owners, ownerID)
	for gk := range own.kinds {
		o.leaveKind(ownerID, gk)
	}
	for gk := range own.types {
		o.leaveType(ownerID, gk)
	}
	o.watchDefinitions()
}

// leaveKind stops the watch on a type when its last user leaves. The caller holds the lock.
func (o *Observer) leaveKind(ownerID string, gk schema.GroupKind) {
	k := o.kinds[gk]
	if delete(k.users, ownerID); len(k.users) == 0 {
		k.cancel()
		delete(o.kinds, gk)
	}
}

// leaveType stops the watch on all instances of a type when its last user leaves. The caller holds the lock.
func (o *Observer) leaveType(ownerID string, gk schema.GroupKind) {
	t := o.types[gk]
	if delete(t.users, ownerID); len(t.users) == 0 {
		t.cancel()
		delete(o.types, gk)
	}
}

// Live returns what is known of an object whose type is retained. The answer of a write is known as soon as that write is done.
func (o *Observer) Live(key manifests.Key) plan.Observed {
	o.mu.Lock()
	defer o.mu.Unlock()
	k := o.kinds[key.GroupKind()]
	if k == nil {
		return plan.Observed{Presence: plan.Unknown, Reason: plan.WaitObserving, Message: "its type is not watched yet"}
	}
	if k.reason != "" {
		return plan.Observed{Presence: plan.Unknown, Reason: k.reason, Message: k.message}
	}
	if seen, ok := k.records[key]; ok {
		return *seen
	}
	return plan.Observed{Presence: plan.Absent}
}

// Unwatched is a type whose objects are read, because they cannot be watched.
type Unwatched struct {
	Type schema.GroupKind
	// Message says why.
	Message string
}

// Unwatched returns the types that an owner retains and that cannot be watched, in the order of their names.
func (o *Observer) Unwatched(ownerID string) []Unwatched {
	o.mu.Lock()
	defer o.mu.Unlock()
	own := o.owners[ownerID]
	if own == nil {
		return nil
	}
	var found []Unwatched
	for gk := range own.kinds {
		if k := o.kinds[gk]; k != nil && k.reason == plan.WaitUnwatched {
			found = append(found, Unwatched{Type: gk, Message: k.message})
		}
	}
	slices.SortFunc(found, func(a, b Unwatched) int { return strings.Compare(a.Type.String(), b.Type.String()) })
	return found
}

// Synced says whether the first list of each type that the owner retains was answered, or refused.
func (o *Observer) Synced(ownerID string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	own := o.owners[ownerID]
	if own == nil {
		return false
	}
	for gk := range own.kinds {
		if k := o.kinds[gk]; k == nil || k.reason == plan.WaitObserving {
			return false
		}
	}
	for gk := range own.types {
		if t := o.types[gk]; t == nil || t.reason == plan.WaitObserving {
			return false
		}
	}
	return true
}

// Writing announces a write to an object. The caller must call the returned function with what the answer said of the object, or with
// nil where the outcome is not known. Events that arrive in between wake the owner only if they are not the echo of this write.
func (o *Observer) Writing(key manifests.Key) (done func(answer *plan.Observed)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := o.writing[key]
	if w == nil {
		w = &write{}
		o.writing[key] = w
	}
	w.count++
	return func(answer *plan.Observed) { o.written(key, w, answer) }
}

func (o *Observer) written(key manifests.Key, w *write, answer *plan.Observed) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch k := o.kinds[key.GroupKind()]; {
	case k == nil || answer == nil:
	case answer.Presence == plan.Present && w.outlived(answer):
		// The pass takes it for present. Where the watch told of its end, that is pending.
		if !slices.ContainsFunc(w.pending, func(e pendingEvent) bool { return e.removal }) {
			o.wake(answer.Owner)
		}
	default:
		k.learn(key, *answer)
	}
	w.count--
	if w.count > 0 {
		return
	}
	delete(o.writing, key)
	for _, event := range w.pending {
		if !event.echoes(answer) {
			o.wake(event.owner)
		}
	}
}

// event wakes the owner of a changed object, unless a write to it is under way: then the answer of that write decides.
func (o *Observer) event(key manifests.Key, e pendingEvent) {
	w := o.writing[key]
	if w == nil {
		o.wake(e.owner)
		return
	}
	if e.removal {
		w.removed = e.resourceVersion
	}
	w.pending = append(w.pending, e)
}

func (o *Observer) wake(ownerID string) {
	if own := o.owners[ownerID]; own != nil {
		own.wake()
	}
}

func (o *Observer) wakeAll(users map[string]bool) {
	for ownerID := range users {
		o.wake(ownerID)
	}
}
