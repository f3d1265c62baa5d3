package plan

import (
	"slices"
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// validated are the facts about a set in which one object changed, one is new, one drifted, one is no longer desired,
// and one of a later wave is new.
func validated() Facts {
	entry := func(name, digest string) metav1alpha1.InventoryEntry {
		return metav1alpha1.InventoryEntry{
			Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: name, UID: "u1", Digest: digest, Fields: "f1",
			PrunePolicy: metav1alpha1.PruneAtOnce,
		}
	}
	desired := func(order int, name string) manifests.Object {
		o := desiredObject(order, manifests.StageConfiguration, name)
		o.Key = manifests.Key{Kind: "ConfigMap", Namespace: "shop", Name: name}
		o.Version, o.Scope, o.Digest = "v1", manifests.ScopeNamespaced, "d1"
		return o
	}
	f := Facts{
		Owner: us, Defaults: Policies{Update: metav1alpha1.UpdateSSAOverride}, Now: sceneTime, Validate: true,
		Desired: []manifests.Object{
			desired(0, "changed"), desired(0, "new"), desired(1, "drifted"), desired(2, "later"),
		},
		Inventory: NewInventory([]metav1alpha1.InventoryEntry{
			entry("changed", "d0"), entry("drifted", "d1"), entry("pruned", "d1"),
		}),
		Results: map[manifests.Key]Result{},
	}
	return f.seen(func(key manifests.Key) Observed {
		e, recorded := f.Inventory[key]
		if !recorded {
			return Observed{Presence: Absent}
		}
		o := newScene(nil).live
		o.Digest = e.Digest
		if key.Name == "drifted" {
			o.Applied = "other"
		}
		return o
	})
}

func namesOf(actions []Action) []string {
	var names []string
	for _, a := range actions {
		names = append(names, string(a.Verb)+" "+a.Key.Name)
	}
	slices.Sort(names)
	return names
}

func TestWritesOfAllWavesAreValidated(t *testing.T) {
	f := validated()
	want := []string{"Apply changed", "Create later", "Create new"}
	if got := namesOf(ForApply(f).Unapplied); !slices.Equal(got, want) {
		t.Errorf("the writes to be validated are %q, want %q", got, want)
	}
	f.Validate = false
	if got := ForApply(f).Unapplied; got != nil {
		t.Errorf("the writes are %q without a request for them", namesOf(got))
	}
}

func TestOnlyRepairsAreDoneInASetThatIsRefused(t *testing.T) {
	f := validated()
	refused := f.Desired[3].Key
	f.Refused, f.Hold = map[manifests.Key]Failure{refused: {Class: Terminal, Reason: WaitInvalid}}, true
	p := ForApply(f)
	if got, want := namesOf(p.Actions), []string{"Apply drifted"}; !slices.Equal(got, want) {
		t.Errorf("the plan has the actions %q, want %q", got, want)
	}
	if len(p.Waiting) != 1 || p.Waiting[0].Key != refused || p.Waiting[0].Failure == nil || p.Applied || !p.Held {
		t.Errorf("the plan must have the failure alone, and not be applied, got %+v", p)
	}
	if len(p.Inventory) != len(f.Inventory) || p.WriteInventory {
		t.Errorf("objects that are not written are recorded: %v", p.Inventory)
	}
}

func TestReadsAreCarriedOutBeforeTheFirstWrite(t *testing.T) {
	f := validated()
	unowned := f.Desired[1].Key
	f.Defaults.Adoption = metav1alpha1.AdoptIfUnowned
	present := func(key manifests.Key) Observed {
		o := f.Live.Of(key)
		if key == unowned {
			o = Observed{Presence: Present, UID: "u2", ResourceVersion: "1"}
		}
		return o
	}
	g := f.seen(present)
	if got, want := namesOf(ForApply(g).Unread()), []string{"Read new"}; !slices.Equal(got, want) {
		t.Errorf("the first actions are %q, want %q", got, want)
	}
	g.Desired[1].Settings.Order = 3
	g.Desired[1], g.Desired[2], g.Desired[3] = g.Desired[2], g.Desired[3], g.Desired[1]
	if got, want := namesOf(ForApply(g).Unread()), []string{"Read new"}; !slices.Equal(got, want) {
		t.Errorf("an object of a later wave would be adopted, and the first actions are %q, want %q", got, want)
	}
	nothing := g
	nothing.Desired = g.Desired[3:]
	nothing.Inventory = nil
	if got := ForApply(nothing).Unread(); got != nil {
		t.Errorf("nothing is written, and the first actions are %q", namesOf(got))
	}
	g.Desired = validated().Desired
	g.Validate = false
	if got := ForApply(g).Unread(); got != nil {
		t.Errorf("the reads %q come first although nothing is validated", namesOf(got))
	}
	g = f.seen(func(key manifests.Key) Observed {
		o := present(key)
		if key == unowned {
			o.Mark = &ToolMark{}
		}
		return o
	})
	p := ForApply(g)
	want := []string{"Apply changed", "Apply new", "Create later"}
	if got := namesOf(p.Unapplied); !slices.Equal(got, want) || p.Unread() != nil {
		t.Errorf("the writes to be validated are %q, want %q", got, want)
	}
}

func TestObjectsOfLaterWavesThatNoWatchShowsAreValidatedBeforeTheyAreRead(t *testing.T) {
	f := validated()
	f.Desired[0], f.Desired[3] = f.Desired[3], f.Desired[0]
	f.Desired[0].Settings.Order, f.Desired[3].Settings.Order = 0, 2
	f.Desired[2].Settings.Order = 1
	unwatched := map[string]bool{"changed": true, "new": false, "later": false}
	g := f.seen(func(key manifests.Key) Observed {
		if unwatched[key.Name] {
			return Observed{Presence: Unknown, Reason: WaitUnwatched}
		}
		return f.Live.Of(key)
	})
	p := ForApply(g)
	if want := []string{"Apply changed", "Create later", "Create new"}; !slices.Equal(namesOf(p.Unapplied), want) ||
		!p.Incomplete() {
		t.Errorf("the writes to be validated are %q, want %q, and a read", namesOf(p.Unapplied), want)
	}
	if i := slices.IndexFunc(p.Unapplied, func(a Action) bool {
		return a.Key.Name ==
			"changed"
	}); p.Unapplied[i].Preconditions.UID != "u1" {
		t.Errorf("the update has the UID %q, want that of the inventory", p.Unapplied[i].Preconditions.UID)
	}
	f.Desired[3].Settings.ReconcilePolicy = metav1alpha1.ReconcileOnce
	if got, want := namesOf(ForApply(g).Unapplied), []string{"Create later", "Create new"}; !slices.Equal(got, want) {
		t.Errorf("the policy once updates nothing, and the writes to be validated are %q, want %q", got, want)
	}
	f.Desired[3].Settings.ReconcilePolicy = ""
	delete(g.Inventory, f.Desired[3].Key)
	if got, want := namesOf(ForApply(g).Unapplied), []string{
		"Create changed", "Create later",
		"Create new",
	}; !slices.Equal(got, want) {
		t.Errorf("without a record, the writes to be validated are %q, want %q", got, want)
	}
}

func TestAPlanThatOnlyRemovesAGuardWritesNothing(t *testing.T) {
	guard := Plan{Actions: []Action{{Verb: VerbUnguard}}}
	if guard.Writes() || !(Plan{Actions: []Action{{Verb: VerbRead}, {Verb: VerbCreate}}}).Writes() {
		t.Error("a guard counts as a write, or a create does not")
	}
}

func TestTheObjectsOfALaterDeletionAreValidatedWithTheSet(t *testing.T) {
	f := validated()
	hook := f.Desired[1]
	hook.Key.Name, hook.Settings.Phase = "hook", manifests.PhasePreDelete
	f.Phases = []manifests.Object{hook, f.Desired[1]}
	want := []string{"Apply changed", "Create hook", "Create later", "Create new"}
	if got := namesOf(ForApply(f).Unapplied); !slices.Equal(got, want) {
		t.Errorf("the writes to be validated are %q, want %q", got, want)
	}
	repairs := f
	repairs.Desired = f.Desired[2:3]
	if got := ForApply(repairs).Unapplied; got != nil {
		t.Errorf("the writes to be validated are %q if nothing is applied for the first time", namesOf(got))
	}
	f.Validate, f.Hold = false, true
	f.Refused = map[manifests.Key]Failure{hook.Key: {Class: Terminal, Reason: WaitInvalid, Message: "no"}}
	p := ForApply(f)
	failed := slices.ContainsFunc(p.Waiting, func(w Waiting) bool { return w.Key == hook.Key && w.Failure != nil })
	if !failed || p.Applied {
		t.Errorf("a refused object of a later deletion is no failure of the plan: %+v", p.Waiting)
	}
}
