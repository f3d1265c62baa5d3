package component

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Forecast is what a reconciler would do with the dependents of a component until there is nothing left to do, provided that all that it waits for
// comes to pass.
type Forecast struct {
	// Steps are the writes, in the order in which they would be made.
	Steps []Step
	// Desired counts the dependents of the apply set, and Unchanged those of them that need no write.
	Desired, Unchanged int
	// Waiting are those that would hold the component up. One that Failed needs somebody to do something: what follows it is Held.
	Waiting []Waiting
	// Unread are the dependents of which nobody knows what would become of them, because whoever asks may not read them. They are among those that
	// are Waiting.
	Unread []manifests.Key
	// Blocked are the managed types whose foreign instances forbid a deletion; nothing is deleted then.
	Blocked []Blocked
	// Finalizers are those of others on a component that is to be deleted: its dependents are not touched before they are gone.
	Finalizers []string
	// Revision is the one that would be applied; NewRevision says that it is not the last one.
	Revision    int64
	NewRevision bool
	// Suspended says that nothing of all this would be done before the component is resumed.
	Suspended bool
}

// Effect is what becomes of a dependent.
type Effect string

// The effects.
const (
	EffectCreate Effect = "Create"
	EffectUpdate Effect = "Update"
	// EffectAdopt: it exists, and does not belong to the component yet.
	EffectAdopt Effect = "Adopt"
	// EffectRecreate: it is deleted, and created anew.
	EffectRecreate Effect = "Recreate"
	// EffectPrune: it is deleted because it is no longer rendered.
	EffectPrune Effect = "Prune"
	// EffectPurge: it is deleted because its purge wave is ready.
	EffectPurge Effect = "Purge"
	// EffectDelete: it is deleted with the component.
	EffectDelete Effect = "Delete"
	// EffectRelease: it stays, and no longer belongs to the component.
	EffectRelease Effect = "Release"
)

// Step is one write, or the two of a recreation.
type Step struct {
	Change
	Effect Effect
	// Turn counts from 1: the steps of a turn are made at once, and those of the next when all of this one are there and ready, or gone.
	Turn int
	// Phase is that of a deletion in which the object is applied; empty for all else.
	Phase manifests.Phase
	// Held says that something that failed would have to be put right before; see Forecast.Waiting.
	Held bool
	// Unchecked says why the API server was not asked whether it would accept the write; empty where it was, and would.
	Unchecked string
	// Manifest is what is applied; nil for what is deleted or released.
	Manifest *manifests.Object
	// Before is the object as it is, and After as it would be. After is nil for what is deleted; of what was not checked, and not there
	// before, it is the manifest. Both may hold the data of Secrets.
	Before, After *unstructured.Unstructured
}

// Changes says that there is anything to do.
func (f Forecast) Changes() bool { return len(f.Steps) > 0 }

// Stuck says that somebody has to do something before all of it can be done.
func (f Forecast) Stuck() bool {
	for _, w := range f.Waiting {
		if w.Failed {
			return true
		}
	}
	return len(f.Blocked) > 0 || len(f.Finalizers) > 0
}
