package settingtext

import (
	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// checkPhase returns errors for settings that have no effect in a phase of the deletion.
func (p *settingsParser) checkPhase(s manifests.Settings) {
	if s.Phase == manifests.PhaseApply {
		return
	}
	refuse := func(name string, set bool) {
		if set {
			p.fail(
				manifests.AnnotationPhase,
				"is %s, and %s has no effect on an object that is applied once, when the component is deleted; remove one of them",
				s.Phase,
				name,
			)
		}
	}
	refuse(manifests.AnnotationPurgeOrder, s.PurgeOrder != nil)
	refuse(manifests.AnnotationReapplyInterval, s.ReapplyInterval != nil)
	refuse(
		manifests.AnnotationReconcilePolicy,
		s.ReconcilePolicy != "" && s.ReconcilePolicy != metav1alpha1.ReconcileOnObjectChange,
	)
}
