package preview

import (
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// ignoredFields returns the ignored fields of objects, in their order. An object that is applied several times counts
// once.
func ignoredFields(objects []manifests.Object) []result.IgnoredField {
	var ignored []result.IgnoredField
	for _, o := range objects {
		if o.Occurrence > 0 {
			continue
		}
		for _, i := range o.Settings.Ignored() {
			ignored = append(ignored, result.IgnoredField{Key: o.Key, Path: i.Path.String(), Source: i.Source})
		}
	}
	return ignored
}

// effectOf returns the effect of an action on its object.
func effectOf(a plan.Action) result.Effect {
	switch a.Verb {
	case plan.VerbCreate, plan.VerbCreateNamespace:
		return result.EffectCreate
	case plan.VerbOrphan:
		return result.EffectRelease
	case plan.VerbDelete:
		return effectOfDelete(a.Reason)
	case plan.VerbApply, plan.VerbReplace, plan.VerbRead, plan.VerbTryDelete, plan.VerbGuard, plan.VerbProbe,
		plan.VerbUnguard:
	}
	if a.Reason.Adopts() {
		return result.EffectAdopt
	}
	return result.EffectUpdate
}

func effectOfDelete(reason plan.Reason) result.Effect {
	effects := map[plan.Reason]result.Effect{
		plan.ReasonPruned:       result.EffectPrune,
		plan.ReasonUnneeded:     result.EffectPrune,
		plan.ReasonExcluded:     result.EffectPrune,
		plan.ReasonPurged:       result.EffectPurge,
		plan.ReasonPurgedFailed: result.EffectPurge,
		plan.ReasonDeleted:      result.EffectDelete,
	}
	if effect, ok := effects[reason]; ok {
		return effect
	}
	return result.EffectRecreate
}
