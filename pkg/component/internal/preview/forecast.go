package preview

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// IgnoredField is a path to fields of an object that are left to others.
type IgnoredField struct {
	Key    manifests.Key
	Path   string
	Source manifests.IgnoreSource
}

// ignoredFields returns the ignored fields of objects, in their order. An object that is applied several times counts
// once.
func ignoredFields(objects []manifests.Object) []IgnoredField {
	var ignored []IgnoredField
	for _, o := range objects {
		if o.Occurrence > 0 {
			continue
		}
		for _, i := range o.Settings.Ignored() {
			ignored = append(ignored, IgnoredField{Key: o.Key, Path: i.Path.String(), Source: i.Source})
		}
	}
	return ignored
}

// Forecast lists all writes that passes over a component would make until nothing is left to do. Forecast assumes that
// every dependent that a pass waits for becomes ready, or disappears if it is being deleted.
type Forecast struct {
	// Steps are the writes, in order.
	Steps []Step
	// Desired is the number of objects in the apply set, and Unchanged the number of these objects that need no write.
	Desired, Unchanged int
	// Ignored are the fields of the apply set that are left to others.
	Ignored []IgnoredField
	// LeftOut are the first ten objects that are not applied because their conditions are false.
	LeftOut []metav1alpha1.DependentReport
	// Waiting are the dependents that would delay the component.
	Waiting []outcome.Waiting
	// NotAsked are the objects that bind values of externals. The values are not known, because a preview makes no calls.
	NotAsked []NotAsked
	// Dropped are the fields that the API server drops from manifests that would be applied for the first time.
	Dropped []outcome.DroppedField
	// Unread are the dependents that the caller may not read.
	Unread []manifests.Key
	// Blocked are the managed types whose foreign instances block a deletion.
	Blocked []outcome.Blocked
	// Finalizers are the finalizers of other controllers on a component that is to be deleted.
	Finalizers []string
	// Revision is the revision that would be applied. NewRevision is set if Revision differs from the last recorded
	// revision.
	Revision    int64
	NewRevision bool
	// Suspended is set if the component is suspended.
	Suspended bool
	// AtDeletion are the objects of deletion phases that exist already, and do not belong to the component.
	AtDeletion AtDeletion
}

// AtDeletion is the part of the forecast of an apply that is about the deletion of the component.
type AtDeletion struct {
	// Adoptions are the steps of the deletion that take over objects that exist now. The deletion also deletes them.
	Adoptions []Step
	// Conflicts are the objects that exist now, and for which the deletion would have to wait. Unread are the objects of
	// which it is not known whether they exist.
	Conflicts, Unread []outcome.Waiting
}

// NotAsked is an object that binds values of externals. Message names the exports and the externals.
type NotAsked struct {
	Key     manifests.Key
	Message string
}

// Step is a write, or the two writes of a recreation.
type Step struct {
	outcome.Change
	Effect Effect
	// Turn is the number of the turn, from 1, in which the step is made. The steps of a turn are made at the same time.
	// The next turn begins when all objects of this turn are ready or gone.
	Turn int
	// Phase is the deletion phase in which the object is applied; empty for ordinary dependents.
	Phase manifests.Phase
	// DependsOn are the objects and groups that the dependent depends on, in the form of the annotation depends-on.
	DependsOn []string
	// Adopts is set if the step takes over an existing object.
	Adopts *Adoption
	// Held is set if the step is not made before a person has resolved an earlier failure.
	Held bool
	// Unchecked is the reason why no dry run checked the write. Unchecked is empty if a dry run succeeded.
	Unchecked string
	// Manifest is the applied manifest; nil if the object is deleted or orphaned.
	Manifest *manifests.Object
	// Before is the live object, and After is the object that the write would result in.
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
	case plan.VerbApply, plan.VerbReplace, plan.VerbRead, plan.VerbTryDelete, plan.VerbGuard, plan.VerbProbe,
		plan.VerbUnguard:
	}
	if a.Reason.Adopts() {
		return EffectAdopt
	}
	return EffectUpdate
}

func effectOfDelete(reason plan.Reason) Effect {
	effects := map[plan.Reason]Effect{
		plan.ReasonPruned:       EffectPrune,
		plan.ReasonExcluded:     EffectPrune,
		plan.ReasonPurged:       EffectPurge,
		plan.ReasonPurgedFailed: EffectPurge,
		plan.ReasonDeleted:      EffectDelete,
	}
	if effect, ok := effects[reason]; ok {
		return effect
	}
	return EffectRecreate
}
