package manifests

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// IsObserved reports whether the object is only read: it is never written, recorded as a dependent, or deleted.
func (s Settings) IsObserved() bool { return s.ReconcilePolicy == metav1alpha1.ReconcileObserve }

// isInFlow reports whether the object is observed, exports values, or binds values.
func (s Settings) isInFlow() bool { return s.IsObserved() || len(s.Exports()) > 0 || s.Binds() }

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

// checkObservedManifest returns an error if the manifest of an observed object has fields that would not be written.
func checkObservedManifest(s Settings, body map[string]any) error {
	if !s.IsObserved() {
		return nil
	}
	fields := slices.DeleteFunc(slices.Sorted(maps.Keys(body)), func(field string) bool {
		return field == "apiVersion" || field == "kind" || field == "metadata" || isExternal(body)
	})
	if len(fields) == 0 {
		return nil
	}
	return fmt.Errorf(
		"it is only observed, so its manifest may have a type and metadata, but no %s; remove these fields, or "+
			"the %s",
		strings.Join(fields, ", "),
		AnnotationReconcilePolicy,
	)
}

// Applied returns the objects that are applied, without those that are only observed. It does not change its argument.
func Applied(objects []Object) []Object {
	observed := func(o Object) bool { return o.Settings.IsObserved() }
	if !slices.ContainsFunc(objects, observed) {
		return objects
	}
	return slices.DeleteFunc(slices.Clone(objects), observed)
}
