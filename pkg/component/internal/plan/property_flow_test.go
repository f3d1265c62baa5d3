package plan

import (
	"fmt"
	"math/rand/v2"
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// flowFacts returns random facts about objects of which some are observed, and some wait for values.
func flowFacts(random *rand.Rand) Facts {
	f := Facts{
		Owner: us, Component: sceneComponent, Revision: 2, Now: sceneTime, Reason: ReasonPruned,
		Defaults:  Policies{Update: metav1alpha1.UpdateSSAMerge, Adoption: metav1alpha1.AdoptIfUnowned},
		Inventory: Inventory{}, Unbound: map[manifests.Key]Unbound{},
	}
	for i := range 6 {
		o := desiredObject(i/2, manifests.StageConfiguration, fmt.Sprintf("o%d", i))
		entry := metav1alpha1.InventoryEntry{
			Version: "v1", Kind: o.Key.Kind, Namespace: o.Key.Namespace, Name: o.Key.Name, UID: "u", Digest: "v1.s.t1",
			Fields: "f", Revision: random.Int64N(3),
		}
		if random.IntN(2) == 0 {
			f.Inventory[o.Key] = entry
		}
		switch o.Digest = "v1.s.t1"; random.IntN(5) {
		case 0:
			o.Settings.ReconcilePolicy, o.Digest = metav1alpha1.ReconcileObserve, "d"
		case 1:
			o.Settings.Rare, o.Digest = &manifests.RareSettings{Bind: true}, "t1.s"
			f.Unbound[o.Key] = Unbound{Message: "it waits for x", Failed: random.IntN(3) == 0}
		case 2:
			o.Settings.Rare, o.Digest = &manifests.RareSettings{Bind: true}, "v2.s.t1"
		case 3:
			// The object is recorded and not desired.
			continue
		}
		f.Desired = append(f.Desired, o)
	}
	return f.seen(func(manifests.Key) Observed { return flowState(random) })
}

// flowState returns a random state of a live object.
func flowState(random *rand.Rand) Observed {
	live := Observed{
		Presence: Present, UID: "u", ResourceVersion: "7", Owner: us, Digest: "v1.s.t1", Applied: "f",
		Readiness: ready.Result{State: ready.Ready},
	}
	switch random.IntN(8) {
	case 0:
		return Observed{Presence: Absent, Confirmed: true}
	case 1:
		return Observed{Presence: Unknown, Reason: WaitListFailed}
	case 2:
		live.Owner = them
	case 3:
		live.Terminating, live.Readiness.State = true, ready.Terminating
	case 4:
		live.Applied = "theirs"
	case 5:
		live.Readiness.State = ready.InProgress
	}
	return live
}

// No write leaves an observed object changed, no object is written without its values, no later wave is applied before
// such an object, and nothing is pruned while a value or an observed object is missing.
func TestFlowsKeepTheirPromises(t *testing.T) {
	for seed := range uint64(5000) {
		f := flowFacts(rand.New(rand.NewPCG(seed, 1)))
		p := ForApply(f)
		first := settingtext.MaxOrder
		for _, o := range f.Desired {
			if _, unbound := f.Unbound[o.Key]; unbound || o.Settings.IsObserved() && !isSettled(f, o) {
				first = min(first, o.Settings.Order)
			}
			if _, recorded := p.Inventory[o.Key]; recorded && o.Settings.IsObserved() && f.Inventory[o.Key].UID == "" {
				t.Fatalf("seed %d: the observed object %s is recorded", seed, o.Key)
			}
		}
		for _, a := range p.Actions {
			_, unbound := f.Unbound[a.Key]
			observed := observedIn(f, a.Key)
			switch {
			case observed && a.Verb != VerbRead && (a.Verb != VerbOrphan || f.Inventory[a.Key].UID == ""),
				unbound && a.Verb != VerbRead:
				t.Fatalf("seed %d: %s %s", seed, a.Verb, a.Key)
			case first < a.Wave && a.Verb == VerbCreate && f.Inventory[a.Key].Digest == "":
				t.Fatalf("seed %d: %s is created in wave %d, although wave %d waits", seed, a.Key, a.Wave, first)
			case first < settingtext.MaxOrder && a.Verb == VerbDelete && a.Object == nil:
				t.Fatalf("seed %d: %s is deleted, although wave %d waits", seed, a.Key, first)
			}
		}
	}
}

func observedIn(f Facts, key manifests.Key) bool {
	for _, o := range f.Desired {
		if o.Key == key {
			return o.Settings.IsObserved()
		}
	}
	return false
}

// isSettled reports whether an observed object is present and ready.
func isSettled(f Facts, o manifests.Object) bool {
	live := f.Live.Of(o.Key)
	return live.Presence == Present && live.IsReady() && !live.Terminating
}
