package externals

import (
	"context"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Pass is a pass over the externals of a component.
type Pass struct {
	Owner manifests.Owner
	// Component returns a copy of the component.
	Component func() client.Object
	// Drivers handle the kinds.
	Drivers []external.Driver
	// Desired is the apply set, with the objects that conditions may add to it. It is empty in a deletion.
	Desired []manifests.Object
	// Inventory is the inventory as it is recorded.
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

// Resolution is the answer of a person: the id of the external, or that it does not exist.
type Resolution struct {
	Token  string `json:"token"`
	ID     string `json:"id,omitempty"`
	Absent bool   `json:"absent,omitempty"`
}

// Session implements applier.Externals for one pass.
type Session struct {
	owner *owner
	pass  Pass
	// prepared are the externals of the current actions whose intents are recorded.
	prepared map[manifests.Key]bool
}

// Begin begins a pass. It loads the recorded states, and enters the desired objects, the inventory and the references.
// The result is nil if the component has no externals.
func (m *Manager) Begin(ctx context.Context, p Pass) (*Session, error) {
	if !p.hasExternals() && !p.Recorded && m.Empty(p.Owner) {
		return nil, nil
	}
	o := m.of(p.Owner)
	s := &Session{owner: o, pass: p}
	o.recording.Lock()
	defer o.recording.Unlock()
	refs, err := s.load(ctx)
	if err != nil {
		return nil, err
	}
	contents, err := p.Read(ctx, refs)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	s.readReferences(contents)
	changes := s.resolve()
	s.repeatDeletions(changes)
	released, shortened := s.stale(changes)
	o.mu.Unlock()
	if len(changes) > 0 {
		if err := o.write(ctx, changes); err != nil {
			return nil, err
		}
	}
	if err := s.releaseCredentials(ctx, released); err != nil {
		return nil, err
	}
	if len(shortened) > 0 {
		// The states name their former Secrets until the Secrets are released.
		if err := o.write(ctx, shortened); err != nil {
			return nil, err
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	s.start()
	noteRequest(o, p.Requested)
	return s, nil
}

// load reads the recorded states, and enters the desired objects and the inventory. It returns the references that the
// externals need.
func (s *Session) load(ctx context.Context) ([]metav1alpha1.Reference, error) {
	o := s.owner
	if err := o.load(ctx); err != nil {
		return nil, err
	}
	enter := func() []metav1alpha1.Reference {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.stopped, o.component = false, s.pass.Component()
		return s.enter()
	}
	refs := enter()
	if reloaded, err := o.reload(ctx); !reloaded || err != nil {
		return refs, err
	}
	return enter(), nil
}

// hasExternals reports whether an external is desired or recorded.
func (p Pass) hasExternals() bool {
	return slices.ContainsFunc(p.Desired, func(o manifests.Object) bool { return o.Key.IsExternal() }) ||
		slices.ContainsFunc(p.Inventory, func(e metav1alpha1.InventoryEntry) bool { return e.External })
}

// maxFirstAnswers is the time for which a pass waits for the first answers of externals.
const maxFirstAnswers = 10 * time.Second

// Synced implements applier.Externals.
func (s *Session) Synced() bool {
	s.owner.mu.Lock()
	defer s.owner.mu.Unlock()
	now := s.owner.manager.now()
	for _, it := range s.owner.items {
		if it.asked || !it.canAsk() || it.writing != nil || it.saving {
			continue
		}
		if it.firstAsked.IsZero() {
			it.firstAsked = now
			s.owner.wakeAt(now.Add(maxFirstAnswers), func() bool { return !it.asked })
		}
		if now.Before(it.firstAsked.Add(maxFirstAnswers)) {
			return false
		}
	}
	return true
}

// Snapshot implements applier.Externals.
func (s *Session) Snapshot(f plan.Facts) plan.Snapshot {
	s.owner.mu.Lock()
	defer s.owner.mu.Unlock()
	for i := range f.Desired {
		if it := s.owner.items[f.Desired[i].Key]; it != nil && it.desired != nil && isBound(&f.Desired[i]) {
			object := f.Desired[i]
			it.desired = &object
		}
	}
	states := plan.Snapshot{}
	for _, key := range f.Keys() {
		if !key.IsExternal() {
			continue
		}
		states[key] = new(plan.NotObserved())
		if it := s.owner.items[key]; it != nil {
			states[key] = it.facts()
		}
	}
	return states
}

// Finished implements applier.Externals.
func (s *Session) Finished() (map[manifests.Key]plan.Result, []outcome.Change) {
	s.owner.mu.Lock()
	defer s.owner.mu.Unlock()
	results, changes := map[manifests.Key]plan.Result{}, []outcome.Change(nil)
	for _, done := range s.owner.finished {
		changes = append(changes, done.change)
		it := s.owner.items[done.change.Key]
		current := it != nil && it.desired != nil && it.desired.Digest == done.digest && done.trigger == s.pass.Trigger
		if current && done.verb != plan.VerbDelete {
			results[done.change.Key] = plan.Result{Verb: done.verb, Observed: it.facts(), Attempts: 1}
			if it.answer != nil && it.differs() != "" {
				// This pass counts an external that was written as in sync. The next pass repairs the difference.
				s.owner.wake()
			}
		}
	}
	s.owner.finished = nil
	return results, changes
}
