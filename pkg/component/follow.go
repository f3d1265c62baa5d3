package component

import (
	"context"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// follower names who follows look-ups, of which those beside the component are kept apart from those in the target.
func follower(owner manifests.Owner, local bool) string {
	if local {
		return owner.ID() + " local"
	}
	return owner.ID()
}

func (t target) side(local bool) *Engine {
	if local {
		return t.local
	}
	return t.engine
}

// follow wakes a component when something changes that its rendering looked up.
func (r *Reconciler[T]) follow(name client.ObjectKey, owner manifests.Owner, t target, l looks) {
	wake := func() { r.wake(name) }
	for _, local := range []bool{false, true} {
		read := map[observe.Reference]observe.Version{}
		for _, seen := range l.all {
			if ref, ok := seen.reference(); ok && seen.key.local == local {
				read[ref] = seen.version
			}
		}
		side := t.side(local)
		side.lookups.WatchVersions(follower(owner, local), observe.ReadVersions{OwnerID: owner.ID(), Reader: side.viewer, Versions: read}, wake)
	}
	t.engine.discovery.Subscribe(owner.ID(), l.served.Digest, wake)
}

// lookAgain reads what may have changed since a rendering looked it up, and what no watch tells of. It returns what was looked up with the
// versions that are known now, and whether the rendering would find the same. A status counts also where the rendering is not known to read it:
// it may have done nothing with what was in there so far, such as an address that is not assigned yet.
func (r *Reconciler[T]) lookAgain(ctx context.Context, owner manifests.Owner, t target, l looks) (looks, bool, error) {
	now, err := t.engine.capabilities(ctx)
	if err != nil || now.Digest != l.served.Digest {
		return l, false, err
	}
	l.served = now.Summary
	l.all = slices.Clone(l.all)
	for i, was := range l.all {
		if !r.mayHaveChanged(owner, t, was) {
			continue
		}
		is, err := r.lookOnce(ctx, owner, t, was.key)
		if err != nil || !was.same(is) {
			return l, false, err
		}
		l.all[i].version = is.version
	}
	return l, true, nil
}

func (r *Reconciler[T]) mayHaveChanged(owner manifests.Owner, t target, l look) bool {
	ref, watched := l.reference()
	if !watched {
		return false
	}
	changed, unwatched := t.side(l.key.local).lookups.Changed(follower(owner, l.key.local))
	_, unknown := unwatched[ref]
	return unknown || slices.Contains(changed, ref)
}

// lookOnce looks up an object or a list, as the component's identity.
func (r *Reconciler[T]) lookOnce(ctx context.Context, owner manifests.Owner, t target, key lookupKey) (look, error) {
	f, err := t.lookUp(ctx, key)
	if err != nil {
		return look{}, err
	}
	return r.looker(owner).look(key, f)
}

// recallLooks looks up again what the status tells of, and says whether it is known to be the same.
func (r *Reconciler[T]) recallLooks(ctx context.Context, owner manifests.Owner, t target, status *metav1alpha1.Status) (looks, bool, error) {
	now, err := t.engine.capabilities(ctx)
	if err != nil {
		return looks{}, false, err
	}
	l := looks{served: now.Summary}
	for _, line := range status.Lookups {
		entry, err := metav1alpha1.ParseLookup(line)
		if err != nil {
			return l, false, nil
		}
		seen, err := r.lookOnce(ctx, owner, t, keyOf(entry))
		if err != nil {
			return l, false, err
		}
		l.all = append(l.all, seen)
	}
	same, readsStatus := l.recorded(status)
	l.status = readsStatus
	return l, same, nil
}

// unwatchedLookups tells of the types of what a component looks up that cannot be watched.
func (r *Reconciler[T]) unwatchedLookups(owner manifests.Owner, t target) []outcome.Unwatched {
	reasons := map[string]string{}
	for _, local := range []bool{false, true} {
		_, unwatched := t.side(local).lookups.Changed(follower(owner, local))
		for ref, why := range unwatched {
			reasons["looked-up "+ref.Resource.GroupResource().String()] = why
		}
	}
	found := make([]outcome.Unwatched, 0, len(reasons))
	for what, why := range reasons {
		found = append(found, outcome.Unwatched{Type: what, Message: why})
	}
	slices.SortFunc(found, func(a, b outcome.Unwatched) int { return strings.Compare(a.Type, b.Type) })
	return found
}

// unfollow ends what wakes a component when something changes that it looked up.
func (r *Reconciler[T]) unfollow(owner manifests.Owner) {
	r.local.lookups.Release(follower(owner, true))
}
