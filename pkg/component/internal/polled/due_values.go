package polled

import (
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/internal/backoff"
	"github.com/fairlead-io/fairlead/internal/due"
	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources"
)

// idlePause is the pause of a PollEach without components.
const idlePause = time.Hour

// dueValues holds the value of each component, and the time of its next fetch. It is safe for concurrent use.
type dueValues struct {
	// changed gets a signal when the time of a fetch was set.
	changed chan struct{}

	mu     sync.Mutex
	values map[types.NamespacedName]*dueValue
	queue  due.Queue[types.NamespacedName]
}

// dueValue is a component with a value. Its name and its calls never change, and the lock of dueValues protects the
// other fields.
type dueValue struct {
	name  types.NamespacedName
	calls *caller

	cell
	key string
	// isAbsent is set if the component has no value, so that nothing is fetched.
	isAbsent bool
	// fetching is set during a fetch, and again requests another one at its end. spread is set after the first success.
	fetching, again, spread bool
	// awaits is set while a fetch of a previous entry is under way. The first fetch of this entry begins at its end.
	awaits bool
}

func newDueValues() dueValues {
	return dueValues{changed: make(chan struct{}, 1), values: map[types.NamespacedName]*dueValue{}}
}

// pop returns the component whose fetch is due first, or the delay until one is due. The caller fetches its value, and
// calls store.
func (v *dueValues) pop(now time.Time) (*dueValue, time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	name, found := v.queue.Pop(now)
	if found {
		v.values[name].fetching = true
		return v.values[name], 0
	}
	if at, found := v.queue.First(); found {
		return nil, at.Sub(now)
	}
	return nil, idlePause
}

// errNoComponent is the error of a fetch for a component that does not exist any more. An object that the author's
// Fetch does not find is another error.
var errNoComponent = errors.New("the component does not exist")

// store stores the result of a fetch, schedules the next one, and reports whether the component has to be told.
func (v *dueValues) store(of *dueValue, result fetched, err error, now time.Time) (news bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	of.fetching = false
	if current := v.values[of.name]; current != of {
		if current != nil && current.awaits && current.calls == of.calls {
			v.begin(current, now)
		}
		return false
	}
	switch {
	case of.again:
		// The result may be of a previous key.
		of.again = false
		v.schedule(of, now)
		return false
	case errors.Is(err, errNoComponent):
		v.schedule(of, now.Add(retries.Last))
		return false
	case err != nil:
		news = of.fail(err, now)
		v.schedule(of, now.Add(backoff.Around(of.retry(), laterShare)))
		return news
	}
	news = of.put(result.value, result.digest, now)
	if result.after > 0 {
		share := laterShare
		if !of.spread {
			share, of.spread = firstShare, true
		}
		v.schedule(of, now.Add(backoff.Around(result.after, share)))
	}
	return news
}

// want fetches the value of a component at once, unless it is fetched already with the same key.
func (v *dueValues) want(name types.NamespacedName, key string, now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if of := v.values[name]; of == nil || of.isAbsent || of.key != key {
		of = v.replace(name)
		of.key = key
		if !of.awaits {
			v.schedule(of, now)
		}
	}
}

// omit stores that a component has no value.
func (v *dueValues) omit(name types.NamespacedName) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if of := v.values[name]; of == nil || !of.isAbsent || of.failures > 0 {
		of = v.replace(name)
		of.isAbsent = true
		of.clear()
	}
}

// refuse stores that it is not known whether a component has a value. The component is told in this pass.
func (v *dueValues) refuse(name types.NamespacedName, err error, now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	of := v.replace(name)
	of.isAbsent = true
	of.fail(err, now)
	of.failures = toldAfter
}

// refresh fetches the value of a component at once.
func (v *dueValues) refresh(name types.NamespacedName, now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	of := v.values[name]
	switch {
	case of == nil || of.isAbsent || of.awaits:
	case of.fetching:
		of.again = true
	default:
		v.schedule(of, now)
	}
}

// schedule sets the time of the next fetch. The caller holds the lock.
func (v *dueValues) schedule(of *dueValue, at time.Time) {
	v.queue.Set(of.name, at)
	send(v.changed)
}

// begin begins the fetches of an entry after that of a previous entry ended. The caller holds the lock.
func (v *dueValues) begin(of *dueValue, now time.Time) {
	if of.awaits = false; !of.isAbsent {
		v.schedule(of, now)
	}
}

// replace makes a new entry for a component. A fetch of the previous entry holds up the next one, also if it hangs. The
// caller holds the lock.
func (v *dueValues) replace(name types.NamespacedName) *dueValue {
	next := &dueValue{name: name, calls: &caller{}}
	if previous := v.values[name]; previous != nil {
		next.calls, next.awaits = previous.calls, previous.fetching || previous.awaits
	}
	v.queue.Remove(name)
	v.values[name] = next
	return next
}

// forget drops everything about a component.
func (v *dueValues) forget(name types.NamespacedName) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.values, name)
	v.queue.Remove(name)
}

// end drops all values.
func (v *dueValues) end() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.values, v.queue = map[types.NamespacedName]*dueValue{}, due.Queue[types.NamespacedName]{}
}

func (v *dueValues) state(name types.NamespacedName) eventsources.State {
	v.mu.Lock()
	defer v.mu.Unlock()
	if of := v.values[name]; of != nil {
		return of.state()
	}
	return eventsources.State{Waits: true}
}

func (v *dueValues) input(name types.NamespacedName) (eventsources.Input, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if of := v.values[name]; of != nil {
		return of.input()
	}
	return eventsources.Input{}, eventsources.ErrNoValue
}

func (v *dueValues) get(name types.NamespacedName) (value any, at time.Time, known bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if of := v.values[name]; of != nil && of.known {
		return of.value, of.at, true
	}
	return nil, time.Time{}, false
}

// size returns the number of values, and of the components without a current one.
func (v *dueValues) size() (values, stale int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, of := range v.values {
		if of.known {
			values++
		}
		if of.isStale() {
			stale++
		}
	}
	return values, stale
}
