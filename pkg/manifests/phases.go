package manifests

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

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

// runsOnce says of a type that its objects do their work once. In a phase they are not run again when they are gone after that.
func runsOnce(gk schema.GroupKind) bool {
	return gk == schema.GroupKind{Group: "batch", Kind: "Job"} || gk == schema.GroupKind{Kind: "Pod"}
}

// Unmarked returns the manifest without the label and the annotations of the reconciler that are no settings: as it was before Normalise, but
// for what Normalise fixed.
func (o Object) Unmarked(reconciler string) *unstructured.Unstructured {
	body := o.Body.DeepCopy()
	labels, annotations := body.GetLabels(), body.GetAnnotations()
	if delete(labels, reconciler+"/"+LabelOwnerID); len(labels) == 0 {
		labels = nil
	}
	delete(annotations, reconciler+"/"+AnnotationOwnerID)
	delete(annotations, reconciler+"/"+AnnotationDigest)
	body.SetLabels(labels)
	body.SetAnnotations(annotations)
	return body
}
