package preview

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Forecast lists the writes that passes over a component would make until nothing is left to do, if every dependent
// that they wait for becomes ready or disappears.
type Forecast struct {
	// Steps are the writes, in order.
	Steps []Step
	// Desired is the number of objects in the apply set, and Unchanged the number of these objects that need no write.
	Desired, Unchanged int
	// Waiting are the dependents that would hold the component up.
	Waiting []outcome.Waiting
	// Unread are the dependents that the caller may not read.
	Unread []manifests.Key
	// Blocked are the managed types whose foreign instances forbid a deletion.
	Blocked []outcome.Blocked
	// Finalizers are the finalizers of other controllers on a component that is to be deleted.
	Finalizers []string
	// Revision is the revision that would be applied. NewRevision is set if that is not the last recorded revision.
	Revision    int64
	NewRevision bool
	// Suspended is set if the component is suspended.
	Suspended bool
}

// Step is a write, or the two writes of a recreation.
type Step struct {
	outcome.Change
	Effect Effect
	// Turn counts from 1. The steps of a turn are made at once, and the next turn begins when they are ready, or gone.
	Turn int
	// Phase is the phase of a deletion that applies the object; empty for other objects.
	Phase manifests.Phase
	// Held is set if a failure would have to be resolved before this step.
	Held bool
	// Unchecked is the reason why no dry run was made; empty if one was made and accepted.
	Unchecked string
	// Manifest is the applied manifest; nil if the object is deleted or orphaned.
	Manifest *manifests.Object
	// Before is the object as it is now, and After the object as it would be after the step.
	Before, After *unstructured.Unstructured
}

// Effect is the effect of a step on its dependent.
type Effect string

// The effects.
const (
	EffectCreate Effect = "Create"
	EffectUpdate Effect = "Update"
	// EffectAdopt takes over an existing object.
	EffectAdopt Effect = "Adopt"
	// EffectRecreate deletes the object and creates it again.
	EffectRecreate Effect = "Recreate"
	// EffectPrune deletes an object that is no longer rendered.
	EffectPrune Effect = "Prune"
	// EffectPurge deletes an object whose purge wave is ready.
	EffectPurge Effect = "Purge"
	// EffectDelete deletes the object with the component.
	EffectDelete Effect = "Delete"
	// EffectRelease orphans the object.
	EffectRelease Effect = "Release"
)

// effectOf returns the effect of an action on its object.
func effectOf(a plan.Action) Effect {
	switch a.Verb {
	case plan.VerbCreate, plan.VerbCreateNamespace:
		return EffectCreate
	case plan.VerbOrphan:
		return EffectRelease
	case plan.VerbDelete:
		return effectOfDelete(a.Reason)
	case plan.VerbApply, plan.VerbReplace, plan.VerbRead, plan.VerbGuard, plan.VerbProbe, plan.VerbUnguard:
	}
	if a.Reason.Adopts() {
		return EffectAdopt
	}
	return EffectUpdate
}

func effectOfDelete(reason plan.Reason) Effect {
	effects := map[plan.Reason]Effect{
		plan.ReasonPruned:       EffectPrune,
		plan.ReasonPurged:       EffectPurge,
		plan.ReasonPurgedFailed: EffectPurge,
		plan.ReasonDeleted:      EffectDelete,
	}
	if effect, ok := effects[reason]; ok {
		return effect
	}
	return EffectRecreate
}
