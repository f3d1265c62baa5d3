package observe

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// kind holds what a watch tells about the objects of one type, in one place, that carry our owner label. It is the store beneath a
// reflector: it keeps facts, never bodies. The observer's lock guards all of it.
type kind struct {
	observer *Observer
	place    Place
	// version is the one to prefer at the next attempt to list.
	version string
	cancel  context.CancelFunc
	kick    chan struct{}

	// users are the owners that have dependents there.
	users map[string]bool

	progress progress
	// reason and message say why nothing is known; empty once the first list was answered, and the watch is open.
	reason  plan.WaitReason
	message string
	records map[manifests.Key]*plan.Observed
	// deleted are objects that our own deletes ended, and whose end the watch has not told yet.
	deleted map[manifests.Key]types.UID
	// whole says that bodies are kept besides the facts.
	whole  bool
	bodies map[manifests.Key]*unstructured.Unstructured
}

func (o *Observer) startKind(viewer Viewer, p Place, version string) *kind {
	ctx, cancel := context.WithCancel(o.lifetime)
	k := &kind{
		observer: o, place: p, version: version, cancel: cancel, kick: make(chan struct{}, 1),
		reason: plan.WaitObserving, message: "its type is listed for the first time",
		records: map[manifests.Key]*plan.Observed{}, deleted: map[manifests.Key]types.UID{}, users: map[string]bool{},
		whole: o.whole[p.Type], bodies: map[manifests.Key]*unstructured.Unstructured{},
	}
	selector := o.reconciler + "/" + manifests.LabelOwnerID
	go loop{
		source: func() (*cache.ListWatch, error) {
			return o.source(viewer, p, k.preferred(), selector, !manifests.HasStatus(p.Type) && !k.whole)
		},
		mapper: o.mapper, store: k, kick: k.kick, name: "dependents of type " + p.Type.String(), viewer: viewer,
	}.run(ctx)
	return k
}

// preferred returns the version that an owner asked for last.
func (k *kind) preferred() string {
	k.observer.mu.Lock()
	defer k.observer.mu.Unlock()
	return k.version
}

// used says that the watch goes on. The caller holds the lock.
func (k *kind) used() bool { return len(k.users) > 0 }

// retry makes a failed watch try again now. The caller holds the lock.
func (k *kind) retry() {
	if k.reason == plan.WaitNone {
		return
	}
	select {
	case k.kick <- struct{}{}:
	default:
	}
}

// readable says that objects of the type can be read, although they cannot be listed or watched.
func (k *kind) readable() bool {
	if k.observer.verbs == nil {
		return false
	}
	mapping, err := k.observer.mapping(k.place.Type, k.preferred())
	if err != nil {
		return false
	}
	verbs, err := k.observer.verbs(mapping.Resource)
	return err == nil && slices.Contains(verbs, "get")
}

// failed notes why a list failed. A type that was known stays known through a network failure.
func (k *kind) failed(f listFailure) {
	if f.reason == plan.WaitNotListable && k.readable() {
		f.reason, f.message = plan.WaitUnwatched, "the API server supports no list and watch of the type"
	}
	k.observer.mu.Lock()
	defer k.observer.mu.Unlock()
	if k.progress.fail(f); k.progress.known() {
		f = listFailure{}
	}
	k.tell(f.reason, f.message)
}

// watched notes that a watch is open.
func (k *kind) watched() {
	k.observer.mu.Lock()
	defer k.observer.mu.Unlock()
	k.progress.watch = true
	k.settle()
}

// settle makes the type known as soon as it was listed and is watched. The caller holds the lock.
func (k *kind) settle() {
	if k.progress.known() {
		k.tell(plan.WaitNone, "")
	}
}

// tell says why nothing is known, and wakes all users when that changes.
func (k *kind) tell(reason plan.WaitReason, message string) {
	changed := k.reason != reason
	k.reason, k.message = reason, message
	if changed {
		k.observer.serves(k, reason)
		k.observer.wakeAll(k.users)
	}
}
