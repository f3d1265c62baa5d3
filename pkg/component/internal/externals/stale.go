package externals

import (
	"context"
	"fmt"
	"slices"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/externalstate"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// stale adds the removal of states to changes: of externals that are gone, and whose entries are dropped. It returns
// the Secrets that no external needs any more, and the states without references that no call needs any more. The
// caller holds the lock.
func (s *Session) stale(
	changes map[manifests.Key]*externalstate.State,
) (released []string, shortened map[manifests.Key]*externalstate.State) {
	needed, dropped := map[string]bool{}, map[string]bool{}
	addAll(dropped, s.owner.held)
	shortened = map[manifests.Key]*externalstate.State{}
	for key, it := range s.owner.items {
		if it.desired != nil {
			_, refs := it.recorded(*it.desired)
			addAll(needed, secretNames(refs))
		}
		if it.state == nil {
			continue
		}
		refs := s.staleItem(key, it, changes, shortened)
		addAll(needed, secretNames(refs))
		addAll(dropped, secretNames(it.state.References))
	}
	for name := range dropped {
		if !needed[name] {
			released = append(released, name)
		}
	}
	slices.Sort(released)
	return released, shortened
}

// addAll adds names to a set.
func addAll(set map[string]bool, names []string) {
	for _, name := range names {
		set[name] = true
	}
}

// staleItem does the work of stale for an external with a state, and returns the references that it still needs.
func (s *Session) staleItem(
	key manifests.Key, it *item, changes, shortened map[manifests.Key]*externalstate.State,
) []metav1alpha1.Reference {
	left := !it.entry.External && it.desired == nil && it.damaged == ""
	_, changing := changes[key]
	refs := it.neededReferences()
	switch {
	case left && (it.state.Gone || it.wasNeverCreated()):
		changes[key] = nil
		return nil
	case left:
		s.reportLeft(it)
		return it.state.References
	case it.state.Gone:
		return refs
	case changing || len(refs) == len(it.state.References):
		return it.state.References
	}
	next := *it.state
	next.References = refs
	shortened[key] = &next
	return refs
}

// reportLeft creates an event, once, about an external that is recorded and not in the inventory. It is left in place,
// because nothing shows that the component may delete it.
func (s *Session) reportLeft(it *item) {
	if it.reported {
		return
	}
	it.reported = true
	s.owner.manager.options.Tell(s.owner.name, "ExternalUnrecorded", fmt.Sprintf(
		"%s is recorded in a Secret, but not in the inventory; it is left in place: id %q", it.key, it.state.ID))
}

// neededReferences returns the recorded references that a call may need: for the manifest that was applied last, and
// for the desired manifest. During a call, and without a driver, all of them may be needed.
func (it *item) neededReferences() []metav1alpha1.Reference {
	if it.state.Gone {
		return nil
	}
	if it.driver == nil || it.writing != nil || it.saving || it.damaged != "" {
		return it.state.References
	}
	needed := it.referencesOf(it.applied())
	if it.desired != nil {
		_, refs := it.recorded(*it.desired)
		needed = append(needed, refs...)
	}
	return slices.DeleteFunc(slices.Clone(it.state.References), func(r metav1alpha1.Reference) bool {
		return !slices.Contains(needed, r)
	})
}

// wasNeverCreated reports whether the state records at most the intent of a create that was not begun. The caller has
// made sure that the inventory has no entry.
func (it *item) wasNeverCreated() bool {
	return it.state.ID == "" && !it.sent && it.writing == nil && !it.saving
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

func (s *Session) releaseCredentials(ctx context.Context, names []string) error {
	o := s.owner
	names = slices.DeleteFunc(names, func(name string) bool { return o.wasReleased(name) })
	if len(names) == 0 {
		return nil
	}
	if err := o.manager.options.Credentials.Release(ctx, o.owner, names, s.pass.KeepSecrets); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held = slices.DeleteFunc(o.held, func(name string) bool { return slices.Contains(names, name) })
	o.released = append(o.released, names...)
	return nil
}

// End removes our finalizer from the credentials of an owner whose externals are gone, and forgets the owner.
func (m *Manager) End(ctx context.Context, owned manifests.Owner) error {
	o := m.of(owned)
	o.mu.Lock()
	names := slices.Clone(o.held)
	for _, it := range o.items {
		if it.state != nil {
			names = append(names, secretNames(it.state.References)...)
		}
		if it.isOwned() {
			m.options.Tell(o.name, "ExternalReleased", fmt.Sprintf("%s is left in place: id %q", it.key, it.id()))
		}
	}
	o.mu.Unlock()
	slices.Sort(names)
	if names = slices.Compact(names); len(names) > 0 {
		if err := m.options.Credentials.Release(ctx, owned, names, nil); err != nil {
			return err
		}
	}
	m.Forget(owned)
	return nil
}
