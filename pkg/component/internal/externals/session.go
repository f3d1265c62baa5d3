package externals

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/component/internal/externalstate"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// SessionInput describes a pass over the externals of a component.
type SessionInput struct {
	Owner manifests.Owner
	// Component returns a copy of the component.
	Component func() client.Object
	// Drivers handle the kinds.
	Drivers []external.Driver
	// Desired is the apply set, with the objects that conditions may add to it. It is empty in a deletion.
	Desired []manifests.Object
	// Inventory is the inventory as it is stored.
	Inventory []metav1alpha1.InventoryEntry
	// Read returns the contents of references, by reference. The text says why a reference has no content.
	Read func(ctx context.Context, refs []metav1alpha1.Reference) (map[metav1alpha1.Reference]Content, error)
	// KeepSecrets are Secrets that need our finalizer for another reason.
	KeepSecrets []string
	// Trigger identifies the state of the component; see applier.Request.
	Trigger string
	// Requested is the value of the annotation that requests a pass. A new value observes all externals.
	Requested string
	// Resolved are the answers of a person to uncertain creates.
	Resolved map[manifests.Key]Resolution
	// Revision is the current revision of the component.
	Revision int64
	// Recorded is set if there may be recorded states although nothing else shows it.
	Recorded bool
}

// Content is the content of a reference. Missing says why there is none.
type Content struct {
	Data    map[string][]byte
	Missing string
}

// Session implements applier.Externals for one pass.
type Session struct {
	component *component
	pass      SessionInput
	// prepared are the externals of the current actions whose intents are stored.
	prepared map[manifests.Key]bool
}

// Begin begins a pass. It loads the recorded states, and enters the desired objects, the inventory and the references.
// The result is nil if the component has no externals.
func (m *Manager) Begin(ctx context.Context, p SessionInput) (*Session, error) {
	in := p.inputs()
	if len(in.keys()) == 0 && !p.Recorded && m.Empty(p.Owner) {
		return nil, nil
	}
	in.component = p.Component()
	c := m.component(p.Owner)
	c.stored.Lock()
	defer c.stored.Unlock()
	refs, err := p.enterAll(ctx, c, in)
	if err != nil {
		return nil, err
	}
	contents, err := p.Read(ctx, refs)
	if err != nil {
		return nil, err
	}
	u := newUpkeep()
	c.changeAll(nil, func(t *step) {
		p.enterContents(t, contents)
		u.add(t, &p)
	})
	if err := c.stored.write(ctx, u.changes); err != nil {
		return nil, err
	}
	if err := c.stored.release(ctx, u, p.KeepSecrets); err != nil {
		return nil, err
	}
	// The states name their previous Secrets until the Secrets are released.
	if err := c.stored.write(ctx, u.shortened); err != nil {
		return nil, err
	}
	requested := c.isNewRequest(p.Requested)
	c.changeAll(nil, func(t *step) {
		p.resume(t)
		if requested {
			t.demand()
		}
	})
	return &Session{component: c, pass: p}, nil
}

// enterAll reads the recorded states, and enters the desired objects and the inventory. It returns the references that
// the externals need. The caller holds the lock of the stateStore.
func (p *SessionInput) enterAll(ctx context.Context, c *component, in inputs) (refs []metav1alpha1.Reference, err error) {
	if err := c.stored.load(ctx); err != nil {
		return nil, err
	}
	c.resume()
	outdated := false
	enter := func(t *step) {
		p.enter(t, in)
		outdated = outdated || t.s.recorded.damaged == olderVersion
		refs = append(refs, references(&t.s)...)
	}
	if c.changeAll(in.keys(), enter); outdated {
		// Another process may have written the states since they were read.
		if err := c.stored.reload(ctx); err != nil {
			return nil, err
		}
		refs = nil
		c.changeAll(in.keys(), enter)
	}
	return refs, nil
}

// Synced implements applier.Externals.
func (s *Session) Synced() bool {
	synced := true
	s.component.changeAll(nil, func(t *step) { synced = !t.expectAnswer() && synced })
	return synced
}

// Snapshot implements applier.Externals.
func (s *Session) Snapshot(f plan.Facts) plan.Snapshot {
	desired, states := externalsIn(f.Desired), plan.Snapshot{}
	for _, key := range f.Keys() {
		if !key.IsExternal() {
			continue
		}
		states[key] = s.component.factsAfter(key, func(t *step) {
			if object := desired[key]; object != nil && isBound(object) && t.s.wanted.desired != nil {
				t.s.wanted.desired = object
			}
		})
		if states[key] == nil {
			states[key] = new(plan.NotObserved())
		}
	}
	return states
}

// Finished implements applier.Externals.
func (s *Session) Finished() (map[manifests.Key]plan.Result, []result.Change) {
	results, changes := map[manifests.Key]plan.Result{}, []result.Change(nil)
	for _, done := range s.component.takeFinished() {
		changes = append(changes, outcome.ChangeOf(done.Action))
		isCurrent := false
		s.component.changeKey(done.Key, func(t *step, _ string) { isCurrent = done.isCurrent(&t.s, s.pass.Trigger) })
		if isCurrent {
			facts := s.component.factsAfter(done.Key, func(t *step) {
				// This pass counts an external that was written as in sync. The next pass repairs the difference.
				t.wake = t.s.observed.differs() != ""
			})
			results[done.Key] = plan.Result{Verb: done.Verb, Observed: facts, Attempts: 1}
		}
	}
	return results, changes
}

// Prepare implements applier.Externals. It stores the intents of all actions with one request for each Secret, and
// before that holds the credentials. Actions whose external changed since the plan was made are left out.
func (s *Session) Prepare(ctx context.Context, actions []plan.Action) (tokens map[manifests.Key]string, err error) {
	if !slices.ContainsFunc(actions, func(a plan.Action) bool { return a.Key.IsExternal() }) {
		return nil, nil
	}
	c := s.component
	c.stored.Lock()
	defer c.stored.Unlock()
	if err := c.stored.load(ctx); err != nil {
		return nil, err
	}
	changes, secrets := s.prepare(actions)
	if err := c.stored.hold(ctx, secrets); err != nil || len(changes) == 0 {
		return nil, err
	}
	tokens = map[manifests.Key]string{}
	for key, next := range changes {
		if next.Intent == externalstate.IntentCreate {
			tokens[key] = next.Token
		}
		c.changeKey(key, func(t *step, _ string) { t.s.recorded.attempts.note(next, t.s.recorded.entry.Begun) })
	}
	if err = c.stored.write(ctx, changes); err != nil {
		for key, next := range changes {
			c.changeKey(key, func(t *step, _ string) { t.s.recorded.attempts.doubt(next) })
		}
	}
	return tokens, err
}

// prepare returns the states to store before actions, and the Secrets that their externals need.
func (s *Session) prepare(actions []plan.Action) (changes map[manifests.Key]*externalstate.State, secrets []string) {
	changes, s.prepared = map[manifests.Key]*externalstate.State{}, map[manifests.Key]bool{}
	for _, planned := range actions {
		s.component.changeKey(planned.Key, func(t *step, version string) {
			expected := planned.Preconditions.ResourceVersion
			if !t.s.canAct() || expected != "" && expected != version {
				return
			}
			s.prepared[planned.Key] = true
			if next := (action{planned, s.pass.Trigger}).stateBefore(&t.s); next != nil {
				changes[planned.Key] = next
				secrets = append(secrets, secretNames(next.References)...)
			}
		})
	}
	return changes, secrets
}

// Run implements applier.Externals.
func (s *Session) Run(_ context.Context, actions []plan.Action) []plan.Result {
	results := make([]plan.Result, len(actions))
	for i, planned := range actions {
		results[i] = s.run(action{planned, s.pass.Trigger})
	}
	return results
}

// run begins one action. If it cannot begin, the result contains the current facts.
func (s *Session) run(a action) plan.Result {
	var result *plan.Result
	facts := s.component.factsAfter(a.Key, func(t *step) {
		if t.s.canAct() && s.prepared[a.Key] {
			result = a.run(t)
		}
	})
	switch {
	case facts == nil:
		return plan.Result{Verb: plan.VerbRead, Observed: new(plan.NotObserved())}
	case result == nil:
		return plan.Result{Verb: plan.VerbRead, Observed: facts}
	case result.Started:
		result.Observed = facts
	}
	return *result
}
