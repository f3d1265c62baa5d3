package manifests

import (
	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// checkPhase refuses settings that say nothing of an object which lives in a phase of the deletion only.
func (p *settingsParser) checkPhase(s Settings) {
	if s.Phase == PhaseApply {
		return
	}
	refuse := func(name string, set bool) {
		if set {
			p.fail(AnnotationPhase, "is %s, and %s says nothing of an object that is applied once, when the component is deleted; remove one of them", s.Phase, name)
		}
	}
	refuse(AnnotationPurgeOrder, s.PurgeOrder != nil)
	refuse(AnnotationReapplyInterval, s.ReapplyInterval != nil)
	refuse(AnnotationReconcilePolicy, s.ReconcilePolicy != "" && s.ReconcilePolicy != metav1alpha1.ReconcileOnObjectChange)
}
