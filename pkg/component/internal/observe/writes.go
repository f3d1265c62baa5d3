package observe

import (
	"slices"

	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

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
	o.learn(key, w, answer)
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

// learn enters the answer to a write into all watches that show the object, whoever watches: to none of them the write is news.
func (o *Observer) learn(key manifests.Key, w *write, answer *plan.Observed) {
	seeing := o.kinds[o.PlaceOf(key)]
	if answer == nil || len(seeing) == 0 {
		return
	}
	if answer.Presence == plan.Present && w.outlived(answer) {
		// The pass takes it for present. Where the watch told of its end, that is pending.
		if !slices.ContainsFunc(w.pending, func(e pendingEvent) bool { return e.removal }) {
			o.wake(answer.Owner)
		}
		return
	}
	for _, k := range seeing {
		k.learn(key, *answer)
	}
}

// event wakes the owner of a changed object, unless a write to it is under way: then the answer of that write decides. Who sees the object
// through another watch is woken by that one.
func (k *kind) event(key manifests.Key, e pendingEvent) {
	w := k.observer.writing[key]
	if w != nil && e.removal {
		w.removed = e.resourceVersion
	}
	switch {
	case !k.users[e.owner]:
	case w == nil:
		k.observer.wake(e.owner)
	default:
		w.pending = append(w.pending, e)
	}
}
