package manifests

import (
	"strings"

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

// inPhases returns a manifest for each phase that a manifest names: an object of several phases has a life in each of them. They share all
// other settings but for the order, which phase-order replaces in the phases of the deletion, and what says nothing there.
func inPhases(reconciler string, bodies []*unstructured.Unstructured) []*unstructured.Unstructured {
	expanded := make([]*unstructured.Unstructured, 0, len(bodies))
	for _, body := range bodies {
		named := body.GetAnnotations()[reconciler+"/"+AnnotationPhase]
		if named == "" {
			expanded = append(expanded, body)
			continue
		}
		phases := strings.Split(named, ",")
		for _, phase := range phases {
			expanded = append(expanded, inPhase(reconciler, body, strings.TrimSpace(phase), len(phases) > 1))
		}
	}
	return expanded
}

func inPhase(reconciler string, body *unstructured.Unstructured, phase string, shared bool) *unstructured.Unstructured {
	body = body.DeepCopy()
	annotations := body.GetAnnotations()
	order, ordered := annotations[reconciler+"/"+AnnotationPhaseOrder]
	annotations[reconciler+"/"+AnnotationPhase] = phase
	switch phase {
	case "apply":
		if shared {
			delete(annotations, reconciler+"/"+AnnotationPhaseOrder)
		}
	default:
		delete(annotations, reconciler+"/"+AnnotationPhaseOrder)
		if ordered {
			delete(annotations, reconciler+"/"+AnnotationApplyOrder)
			annotations[reconciler+"/"+AnnotationOrder] = order
		}
		if shared {
			delete(annotations, reconciler+"/"+AnnotationPurgeOrder)
			delete(annotations, reconciler+"/"+AnnotationReapplyInterval)
			delete(annotations, reconciler+"/"+AnnotationReconcilePolicy)
		}
	}
	body.SetAnnotations(annotations)
	return body
}

// doesWork says of an object that it exists for what it does once: a Job or a Pod of a phase, or one that is recreated when its manifest
// changes, which runs it again. That it is gone after it finished is no drift.
func doesWork(body *unstructured.Unstructured, s Settings) bool {
	if s.Phase == PhaseApply && s.UpdatePolicy != metav1alpha1.UpdateRecreate {
		return false
	}
	gk := body.GroupVersionKind().GroupKind()
	return gk == job || gk == pod && runsToCompletion(body)
}

var (
	job = schema.GroupKind{Group: "batch", Kind: "Job"}
	pod = schema.GroupKind{Kind: "Pod"}
)

// runsToCompletion says of a Pod that it is not started again when it succeeds.
func runsToCompletion(body *unstructured.Unstructured) bool {
	policy, _, _ := unstructured.NestedString(body.Object, "spec", "restartPolicy")
	return policy == "Never" || policy == "OnFailure"
}

// RunsOnce says of a type that its objects do their work once.
func RunsOnce(gk schema.GroupKind) bool {
	return gk == job || gk == pod
}

// Unmarked returns the manifest without the label and the annotations of the reconciler that are no settings: as it was before Normalise, but
// for what Normalise fixed.
func (o Object) Unmarked(reconciler string) (*unstructured.Unstructured, error) {
	whole, err := o.Whole()
	if err != nil {
		return nil, err
	}
	body := whole.Body.DeepCopy()
	labels, annotations := body.GetLabels(), body.GetAnnotations()
	if delete(labels, reconciler+"/"+LabelOwnerID); len(labels) == 0 {
		labels = nil
	}
	delete(annotations, reconciler+"/"+AnnotationOwnerID)
	if delete(annotations, reconciler+"/"+AnnotationDigest); len(annotations) == 0 {
		annotations = nil
	}
	body.SetLabels(labels)
	body.SetAnnotations(annotations)
	return body, nil
}
