package externals

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/pkg/component/internal/externalstate"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// States stores the states of externals; see externalstate.Store.
type States interface {
	Load(ctx context.Context, owner manifests.Owner, last *externalstate.Record) (*externalstate.Record, error)
	Write(
		ctx context.Context, owner manifests.Owner, r *externalstate.Record, changes map[manifests.Key]*externalstate.State,
	) (*externalstate.Record, error)
}

// Credentials hold the Secrets that externals need with a finalizer, so that they outlive the externals.
type Credentials interface {
	Hold(ctx context.Context, owner manifests.Owner, secrets []string) error
	// Release removes the finalizer from secrets, except from those in kept.
	Release(ctx context.Context, owner manifests.Owner, secrets, kept []string) error
}

// Monitor is told of each call.
type Monitor interface {
	// StartCall is called before a call. The call gets the returned context, and the returned function is called with its
	// error.
	StartCall(ctx context.Context, c Call) (context.Context, func(error))
}

// Call describes a call. Name is empty for a List.
type Call struct {
	Component  types.NamespacedName
	Kind, Name string
	Method     Method
}

// Method is a method of external.Driver.
type Method string

// The methods.
const (
	MethodObserve Method = "Observe"
	MethodCreate  Method = "Create"
	MethodUpdate  Method = "Update"
	MethodDelete  Method = "Delete"
	MethodFind    Method = "Find"
	MethodList    Method = "List"
)

// Options configure a Manager.
type Options struct {
	// Reconciler is the name of the reconciler.
	Reconciler string
	// View reduces observations to facts, as it does with live objects.
	View        inspect.View
	States      States
	Credentials Credentials
	Clock       clock.WithTicker
	// Wake starts a pass over a component. It must not block.
	Wake func(types.NamespacedName)
	// Tell creates an Event about a component.
	Tell    func(name types.NamespacedName, reason, message string)
	Monitor Monitor
}

// Manager holds the externals of all components. It is safe for concurrent use.
type Manager struct {
	process

	options  Options
	accounts *accounts
	polls    *polls

	// mu protects components, by the ids of their owners.
	mu         sync.Mutex
	components map[string]*component
}

// New returns a Manager whose calls end with ctx.
func New(ctx context.Context, o Options) *Manager {
	m := &Manager{
		process: process{clock: o.Clock, lifetime: ctx}, options: o, components: map[string]*component{},
	}
	m.accounts = newAccounts(&m.process)
	m.polls = newPolls(&m.process, func(it *item) { it.component.observe(it) })
	go m.polls.run(ctx)
	return m
}

// Wait waits for the end of the calls under way, after the lifetime of the Manager has ended.
func (m *Manager) Wait() { m.calls.Wait() }

// component returns the component with the given owner. A new one knows nothing yet.
func (m *Manager) component(o manifests.Owner) *component {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := o.ID()
	if m.components[id] == nil {
		c := &component{
			manager: m, owner: o, name: types.NamespacedName{Namespace: o.Namespace, Name: o.Name},
			items: map[manifests.Key]*item{}, results: map[*item]callResult{},
		}
		c.stored = &stateStore{
			owner: o, states: m.options.States, credentials: m.options.Credentials, adopt: c.adopt,
		}
		m.components[id] = c
	}
	return m.components[id]
}

// known returns the component with the given owner, or nil.
func (m *Manager) known(o manifests.Owner) *component {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.components[o.ID()]
}

// Empty reports whether the Manager knows no externals of a component.
func (m *Manager) Empty(o manifests.Owner) bool { return m.known(o) == nil }

// Forget drops what the Manager knows about the externals of a component. Calls under way are completed, and their
// results are stored.
func (m *Manager) Forget(o manifests.Owner) {
	m.mu.Lock()
	c := m.components[o.ID()]
	delete(m.components, o.ID())
	m.mu.Unlock()
	if c != nil {
		c.stop()
	}
}

// Pause ends the polls of a component, until the next pass over it.
func (m *Manager) Pause(o manifests.Owner) {
	if c := m.known(o); c != nil {
		c.stop()
	}
}

// Recorded returns the recorded states of the externals of a component as this process wrote or read them last. It
// returns nil if the states must be read.
func (m *Manager) Recorded(o manifests.Owner) *externalstate.Record {
	c := m.known(o)
	if c == nil {
		return nil
	}
	return c.stored.current()
}

const notAnswered = "it has not answered yet"

// Get returns the last observation of an external in the form of an object: the applied spec, the observed state as its
// status, the token as its UID, and the field id. The object is nil if the external does not exist. unknown says why it
// is not known whether it exists.
func (m *Manager) Get(of manifests.Owner, key manifests.Key) (obj *unstructured.Unstructured, unknown string) {
	c := m.known(of)
	if c == nil {
		return nil, notAnswered
	}
	unknown = notAnswered
	c.changeKey(key, func(t *step, _ string) {
		f := facts{&t.s, m.reduce}
		switch o := f.current(); o.Presence {
		case plan.Present:
			obj, unknown = f.body(), ""
		case plan.Absent:
			unknown = ""
		case plan.Unknown:
			unknown = o.Message
		}
	})
	return obj, unknown
}

// Count returns the numbers of externals, by kind and state. Externals that are deleted or released are not counted.
func (m *Manager) Count() map[string]map[Status]int {
	m.mu.Lock()
	all := slices.Collect(maps.Values(m.components))
	m.mu.Unlock()
	counts := map[string]map[Status]int{}
	for _, c := range all {
		c.count(counts)
	}
	return counts
}

// Demand observes all externals of a component at once, within the limits of their accounts, and not only when their
// polls are due. The component is woken if an answer differs from the last one. Demand makes no call itself. Before the
// first pass it does nothing, because that pass observes all externals.
func (m *Manager) Demand(of manifests.Owner) {
	if c := m.known(of); c != nil {
		c.changeAll(nil, func(t *step) { t.demand() })
	}
}

// End removes our finalizer from the credentials of a component, and forgets the component. All externals are deleted
// or released.
func (m *Manager) End(ctx context.Context, o manifests.Owner) error {
	c := m.component(o)
	c.stored.Lock()
	defer c.stored.Unlock()
	var names []string
	c.changeAll(nil, func(t *step) {
		names = append(names, secretNames(t.s.recorded.last().References)...)
		if t.s.recorded.isOwned() {
			t.event = releasedEvent(&t.s)
		}
	})
	if err := c.stored.end(ctx, names); err != nil {
		return err
	}
	m.Forget(o)
	return nil
}

// releasedEvent returns the Event about an external that is left in place.
func releasedEvent(s *situation) [2]string {
	return [2]string{
		"ExternalReleased", fmt.Sprintf("%s is left in place: id %q", s.wanted.key, cmp.Or(s.recorded.last().ID, s.id())),
	}
}

// reduce makes facts from an external in the form of a live object, as from other live objects.
func (m *Manager) reduce(
	body *unstructured.Unstructured, reconciler string, readiness inspect.Analyzer,
) plan.Observed {
	view := m.options.View.Of(reconciler)
	view.Analyzers = map[schema.GroupKind]inspect.Analyzer{body.GroupVersionKind().GroupKind(): readiness}
	ctx := context.WithoutCancel(m.lifetime)
	o := view.Object(ctx, body)
	if o.Exports = view.Exports(ctx, body); o.Exports == nil {
		o.Exports = plan.NewExports(nil, nil)
	}
	return o
}
