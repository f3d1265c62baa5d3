package externals

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/externalstate"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// States records the states of externals; see externalstate.Store.
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
	// Tell creates an event about a component.
	Tell    func(name types.NamespacedName, reason, message string)
	Monitor Monitor
}

// Manager has the externals of all components. It is safe for concurrent use.
type Manager struct {
	options Options
	// lifetime ends when the operator stops. No call begins after that, and the calls under way are completed.
	lifetime context.Context
	calls    sync.WaitGroup

	mu       sync.Mutex
	owners   map[string]*owner
	accounts map[accountKey]*account
	budgets  map[budgetKey]*budget
	polls    *polls
}

// New returns a Manager whose calls end with ctx.
func New(ctx context.Context, o Options) *Manager {
	m := &Manager{
		options: o, lifetime: ctx, owners: map[string]*owner{}, accounts: map[accountKey]*account{},
		budgets: map[budgetKey]*budget{},
	}
	m.polls = newPolls(m)
	go m.polls.run(ctx)
	return m
}

// Wait waits for the end of the calls under way, after the lifetime of the Manager has ended.
func (m *Manager) Wait() { m.calls.Wait() }

// outliving returns a context that ends a grace after the lifetime of the Manager. The caller calls end.
func (m *Manager) outliving(grace time.Duration) (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(m.lifetime))
	stop := context.AfterFunc(m.lifetime, func() {
		timer := m.options.Clock.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-timer.C():
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		stop()
		cancel()
	}
}

// Forget drops what the Manager knows about the externals of an owner. Calls under way are completed, and their results
// are recorded.
func (m *Manager) Forget(o manifests.Owner) {
	m.mu.Lock()
	former := m.owners[o.ID()]
	delete(m.owners, o.ID())
	m.mu.Unlock()
	if former != nil {
		former.stop()
	}
}

// Pause ends the polls of a component, until the next pass over it.
func (m *Manager) Pause(o manifests.Owner) {
	m.mu.Lock()
	paused := m.owners[o.ID()]
	m.mu.Unlock()
	if paused != nil {
		paused.stop()
	}
}

// Empty reports whether the Manager knows no externals of an owner.
func (m *Manager) Empty(o manifests.Owner) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.owners[o.ID()] == nil
}

// Recorded returns the recorded states of the externals of an owner as this process wrote or read them last. It returns
// nil if the states must be read.
func (m *Manager) Recorded(o manifests.Owner) *externalstate.Record {
	m.mu.Lock()
	found := m.owners[o.ID()]
	m.mu.Unlock()
	if found == nil {
		return nil
	}
	found.mu.Lock()
	defer found.mu.Unlock()
	if !found.current {
		return nil
	}
	return found.record
}

// of returns the owner with the given id. A new owner knows nothing yet.
func (m *Manager) of(o manifests.Owner) *owner {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := o.ID()
	if m.owners[id] == nil {
		m.owners[id] = &owner{
			manager: m, owner: o, name: types.NamespacedName{Namespace: o.Namespace, Name: o.Name},
			items: map[manifests.Key]*item{}, secrets: map[metav1alpha1.Reference]secret{},
		}
	}
	return m.owners[id]
}

func (m *Manager) now() time.Time { return m.options.Clock.Now() }
