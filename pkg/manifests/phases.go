package manifests

import (
	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// checkPhase returns errors for settings that have no effect in a phase of the deletion.
func (p *settingsParser) checkPhase(s Settings) {
	if s.Phase == PhaseApply {
		return
	}
	refuse := func(name string, set bool) {
		if set {
			p.fail(
				AnnotationPhase,
				"is %s, and %s has no effect on an object that is applied once, when the component is deleted; remove one of them",
				s.Phase,
				name,
			)
		}
	}
	refuse(AnnotationPurgeOrder, s.PurgeOrder != nil)
	refuse(AnnotationReapplyInterval, s.ReapplyInterval != nil)
	refuse(
		AnnotationReconcilePolicy,
		s.ReconcilePolicy != "" && s.ReconcilePolicy != metav1alpha1.ReconcileOnObjectChange,
	)
}

// Phase is the part of a component's life in which a dependent is applied.
type Phase string

// The phases.
const (
	// PhaseApply applies the dependent together with the component. It is the default.
	PhaseApply Phase = ""
	// PhasePreDelete applies the dependent when the component is deleted, before any other dependent is deleted.
	PhasePreDelete Phase = "pre-delete"
	// PhasePostDelete applies the dependent when the component is deleted, after all other dependents are deleted.
	PhasePostDelete Phase = "post-delete"
)
