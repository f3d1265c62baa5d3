package settingtext

import (
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// withoutEffect are the settings that have no effect on an observed object.
var withoutEffect = []string{
	manifests.AnnotationPurgeOrder, manifests.AnnotationPurgeFailed, manifests.AnnotationDeleteOrder,
	manifests.AnnotationUpdatePolicy, manifests.AnnotationAdoptionPolicy, manifests.AnnotationDeletePolicy,
	manifests.AnnotationPrunePolicy, manifests.AnnotationIgnore, manifests.AnnotationReapplyInterval,
	manifests.AnnotationTimeout, manifests.AnnotationBind, manifests.AnnotationDependsOnTimeout,
	manifests.AnnotationGoneWhen,
}

// checkObserved returns errors for settings that have no effect on an observed object.
func (p *settingsParser) checkObserved(s manifests.Settings) {
	if !s.IsObserved() {
		return
	}
	for _, name := range withoutEffect {
		if _, set := p.annotations[p.prefix+"/"+name]; set {
			p.fail(name, "has no effect on an object with %s %s, which is never written or deleted; remove it",
				manifests.AnnotationReconcilePolicy, s.ReconcilePolicy)
		}
	}
	if s.Phase != manifests.PhaseApply {
		p.fail(
			manifests.AnnotationPhase,
			"is %s, but an object with %s %s is only read while the component is applied; remove one of them",
			s.Phase,
			manifests.AnnotationReconcilePolicy,
			s.ReconcilePolicy,
		)
	}
}
