package externals

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/externalstate"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// upkeep is what a pass stores before the plan is made, about externals for which the plan contains no action.
type upkeep struct {
	// changes are the states to store; nil removes one. shortened are the states without references that no call needs
	// any more. They are stored after their Secrets are released.
	changes, shortened map[manifests.Key]*externalstate.State
	// needed are the Secrets that externals need, and named those that a state names.
	needed, named sets.Set[string]
}

func newUpkeep() *upkeep {
	return &upkeep{
		changes: map[manifests.Key]*externalstate.State{}, shortened: map[manifests.Key]*externalstate.State{},
		needed: sets.Set[string]{}, named: sets.Set[string]{},
	}
}

// add adds an external: the answer of a person, the attempt to continue a deletion, and the removal of what nothing
// needs any more.
func (u *upkeep) add(t *step, p *SessionInput) {
	key := t.s.wanted.key
	if next, changes := p.resolve(t); changes {
		u.changes[key] = next
	} else if t.s.mayDelete() {
		// Each attempt is stored, as those of creates are, so a process that does not know that another one took over
		// must not delete a later external with the same id.
		u.changes[key] = deleting(*t.s.recorded.state, t.s.wanted.width(), t.s.now)
		t.s.recorded.attempts.ownAt = t.s.now
	}
	if t.s.wanted.desired != nil {
		u.needed.Insert(secretNames(t.s.wanted.referencesOf(t.s.wanted.manifest()))...)
	}
	if t.s.recorded.state != nil {
		u.needed.Insert(secretNames(u.tidy(t))...)
		u.named.Insert(secretNames(t.s.recorded.state.References)...)
	}
}

// tidy removes the state of an external that was deleted, and whose entry is dropped, or references of it. It returns
// the references that are still needed.
func (u *upkeep) tidy(t *step) []metav1alpha1.Reference {
	s, state := &t.s, t.s.recorded.state
	key, refs := s.wanted.key, neededReferences(state, s)
	left := !s.recorded.entry.External && s.wanted.desired == nil
	_, changing := u.changes[key]
	switch {
	case left && (state.Gone || state.ID == "" && !s.underway.sent && s.isIdle()):
		u.changes[key] = nil // At most the intent of a create that was not begun is stored.
		return nil
	case left:
		u.reportLeft(t)
		return state.References
	case state.Gone:
		return nil
	case changing || len(refs) == len(state.References):
		return state.References
	}
	next := *state
	next.References = refs
	u.shortened[key] = &next
	return refs
}

// reportLeft creates an Event, once, about an external that has a state and is not in the inventory. It is left in
// place, because nothing shows that the component may delete it.
func (u *upkeep) reportLeft(t *step) {
	r := &t.s.recorded
	if !r.reported {
		r.reported = true
		t.event = [2]string{"ExternalUnrecorded", fmt.Sprintf(
			"%s is in a Secret, but not in the inventory; it is left in place: id %q", t.s.wanted.key, r.state.ID)}
	}
}

// neededReferences returns the recorded references that a call may need: for the manifest that was applied last, and
// for the desired manifest. During a call, and without a driver, all of them may be needed.
func neededReferences(state *externalstate.State, s *situation) []metav1alpha1.Reference {
	refs := state.References
	if s.wanted.driver == nil || !s.isIdle() {
		return refs
	}
	needed := append(s.wanted.referencesOf(s.recorded.applied()), referencesIn(s.wanted.manifest())...)
	isFree := func(r metav1alpha1.Reference) bool { return !slices.Contains(needed, r) }
	return slices.DeleteFunc(slices.Clone(refs), isFree)
}

func secretNames(refs []metav1alpha1.Reference) []string {
	var names []string
	for _, ref := range refs {
		if ref.Kind == metav1alpha1.SecretReference {
			names = append(names, ref.Name)
		}
	}
	return names
}
