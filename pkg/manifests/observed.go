package manifests

import (
	"slices"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// IsObserved reports whether the object is only read: it is never written, recorded as a dependent, or deleted.
func (s Settings) IsObserved() bool { return s.ReconcilePolicy == metav1alpha1.ReconcileObserve }

// withoutEffect are the settings that have no effect on an observed object.
var withoutEffect = []string{
	AnnotationPurgeOrder, AnnotationPurgeFailed, AnnotationDeleteOrder, AnnotationUpdatePolicy, AnnotationAdoptionPolicy,
	AnnotationDeletePolicy, AnnotationPrunePolicy, AnnotationIgnore, AnnotationReapplyInterval, AnnotationTimeout,
	AnnotationBind, AnnotationDependsOnTimeout, AnnotationGoneWhen,
}

// checkObserved returns errors for settings that have no effect on an observed object.
func (p *settingsParser) checkObserved(s Settings) {
	if !s.IsObserved() {
		return
	}
	for _, name := range withoutEffect {
		if _, set := p.annotations[p.prefix+"/"+name]; set {
			p.fail(name, "has no effect on an object with %s %s, which is never written or deleted; remove it",
				AnnotationReconcilePolicy, s.ReconcilePolicy)
		}
	}
	if s.Phase != PhaseApply {
		p.fail(
			AnnotationPhase,
			"is %s, but an object with %s %s is only read while the component is applied; remove one of them",
			s.Phase,
			AnnotationReconcilePolicy,
			s.ReconcilePolicy,
		)
	}
}

// Applied returns the objects that are applied, without those that are only observed. It does not change its argument.
func Applied(objects []Object) []Object {
	observed := func(o Object) bool { return o.Settings.IsObserved() }
	if !slices.ContainsFunc(objects, observed) {
		return objects
	}
	return slices.DeleteFunc(slices.Clone(objects), observed)
}
