package result

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Forecast lists all writes that a reconciler would make until nothing is left to do. Forecast assumes that every
// dependent that the reconciler waits for becomes ready, or disappears if it is being deleted.
type Forecast struct {
	// Steps are the writes, in the order in which they would be made.
	Steps []Step
	// Desired is the number of dependents in the apply set. Unchanged is the number of these dependents that need no
	// write.
	Desired, Unchanged int
	// Ignored are the fields of the apply set that are left to others: no step changes them, except the creation of the
	// dependent.
	Ignored []IgnoredField
	// LeftOut are the first ten objects that are not applied because their condition include-when or active-when is false;
	// see Outcome.LeftOut.
	LeftOut []metav1alpha1.DependentReport
	// Waiting are the dependents that would delay the component. If Failed is set for a dependent, a person has to act,
	// and all later steps have Held set.
	Waiting []Waiting
	// NotAsked are the dependents that bind values of dependents outside Kubernetes which the status of the component does
	// not have. A preview makes no calls there, so it is not known whether the values have changed.
	NotAsked []NotAsked
	// Dropped are the fields that the API server would drop without an error, because the types do not have them.
	Dropped []DroppedField
	// Unread are the dependents that the caller may not read. The forecast does not know the writes to them. Waiting
	// contains them too.
	Unread []manifests.Key
	// Blocked are the managed types whose foreign instances block a deletion. If Blocked is not empty, nothing is
	// deleted.
	Blocked []Blocked
	// Finalizers are the foreign finalizers on a component that is to be deleted. The dependents of the component are
	// not changed before these finalizers are removed.
	Finalizers []string
	// Revision is the revision that would be applied. NewRevision is set if Revision differs from the last applied
	// revision.
	Revision    int64
	NewRevision bool
	// Suspended is set if the component is suspended: no step is made before it is resumed.
	Suspended bool
	// LostPhases says why a deletion would not apply the objects of its phases. It is empty if their record can be read,
	// and in the forecast of an apply.
	LostPhases string
	// AtDeletion are the objects of deletion phases that exist already, and do not belong to the component. It is empty in
	// the forecast of a deletion.
	AtDeletion AtDeletion
}

// AtDeletion is the part of the forecast of an apply that is about the deletion of the component.
type AtDeletion struct {
	// Adoptions are the steps of the deletion that take over objects that exist now.
	Adoptions []Step
	// Conflicts are the objects that exist now, and for which the deletion would have to wait until somebody moves them.
	// Unread are the objects of which it is not known whether they exist.
	Conflicts, Unread []Waiting
}

// NotAsked is a dependent that binds values of dependents outside Kubernetes. Message names the exports.
type NotAsked struct {
	Key     manifests.Key
	Message string
}

// DroppedField is a field of a manifest that the API server drops without an error, because the type does not have it.
type DroppedField struct {
	Key manifests.Key
	// Field is the path of the field.
	Field string
}

// String returns the object and the field.
func (d DroppedField) String() string { return d.Key.String() + ": " + d.Field }

// IgnoredField is a path to fields of a dependent that are left to others.
type IgnoredField struct {
	Key  manifests.Key
	Path string
	// Source says where the rule was written: in the manifest, in the options of the reconciler, or in the component.
	Source manifests.IgnoreSource
}

// Effect is the effect of a step on a dependent.
type Effect string

// The effects of steps.
const (
	EffectCreate Effect = "Create"
	EffectUpdate Effect = "Update"
	// EffectAdopt: the object exists, and does not belong to the component yet.
	EffectAdopt Effect = "Adopt"
	// EffectRecreate: the object is deleted and created again.
	EffectRecreate Effect = "Recreate"
	// EffectPrune: the object is deleted because it is no longer rendered.
	EffectPrune Effect = "Prune"
	// EffectPurge: the object is deleted because its purge wave is ready.
	EffectPurge Effect = "Purge"
	// EffectDelete: the object is deleted with the component.
	EffectDelete Effect = "Delete"
	// EffectRelease: the object stays, and no longer belongs to the component.
	EffectRelease Effect = "Release"
)

// Step is one write. The deletion and the creation of a recreated object are one step.
type Step struct {
	Change
	Effect Effect
	// Turn is the number of the turn, from 1, in which the step is made. The steps of a turn are made at the same time.
	// The next turn begins when all objects of this turn are ready or deleted.
	Turn int
	// Phase is the deletion phase (pre-delete or post-delete) in which the object is applied; empty for ordinary
	// dependents.
	Phase manifests.Phase
	// DependsOn are the objects and groups that the dependent depends on, in the form of the annotation depends-on.
	DependsOn []string
	// Adopts says from whom the step takes the object over, and which of its values get lost; nil if the component owns
	// the object already, or creates it.
	Adopts *Adoption
	// Held is set if the step is not made before a person has resolved an earlier failure; see Forecast.Waiting.
	Held bool
	// Unchecked is the reason why the write was not checked by a dry run; empty if a dry run succeeded.
	Unchecked string
	// Manifest is the applied manifest; nil if the object is deleted or released.
	Manifest *manifests.Object
	// Before is the live object, and After is the object that the write results in. After is nil for a deletion. For a
	// new object that was not checked by a dry run, After is the manifest. Before and After may contain data of
	// Secrets.
	Before, After *unstructured.Unstructured
}

// Adoption is the take-over of an existing object.
type Adoption struct {
	// UID is the UID of the object.
	UID types.UID
	// From says who has the object: another tool and its release or application, such as "the Helm release shop/web"; a
	// component; field managers, such as "field manager kubectl-create"; or "nobody".
	From string
	// Lost are the values of the object that the take-over removes or changes, sorted by path. Unknown is the reason why
	// these values are not known, for example because no dry run of the write was possible; empty if they are known.
	Lost    []LostValue
	Unknown string
	// Listed is set if an entry of spec.adopt permits the take-over: the entry names the object, which has no owner, or
	// the cluster in which the component owned it. Moved is set if it is an entry with a cluster.
	Listed, Moved bool
	// Released is set if the component itself released the object before, so that no entry is needed.
	Released bool
	// Deleted is set if a later step deletes the object, with all its values: a purge, a recreation, or the deletion of
	// the component.
	Deleted bool
}

// LostValue is a value that a step removes or changes.
type LostValue struct {
	// Path is the path to the value, such as data.color or spec.template.spec.containers[0].image.
	Path string
	// Before is the value as JSON, and After is the new value, which is empty if the value is removed. If Withheld is
	// set, both are empty, because the object is a Secret.
	Before, After string
	Withheld      bool
}

// Changes reports whether there are steps.
func (f Forecast) Changes() bool { return len(f.Steps) > 0 }

// Stuck reports whether a person has to act before all steps can be made.
func (f Forecast) Stuck() bool {
	for _, w := range f.Waiting {
		if w.Failed {
			return true
		}
	}
	return len(f.Blocked) > 0 || len(f.Finalizers) > 0
}
