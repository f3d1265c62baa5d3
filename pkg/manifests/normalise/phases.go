package normalise

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/builtintypes"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// inPhases returns a copy of a manifest for each phase that its annotation names. The copies have the same settings,
// with two exceptions in the phases of the deletion: phase-order replaces the order, and settings that have no effect
// in such a phase are removed. The errors of all manifests are joined.
func inPhases(
	reconciler string, bodies []*unstructured.Unstructured, copies *copyBudget,
) (expanded []*unstructured.Unstructured, err error) {
	expanded = make([]*unstructured.Unstructured, 0, len(bodies))
	var errs []error
	for i, body := range bodies {
		named := body.GetAnnotations()[reconciler+"/"+manifests.AnnotationPhase]
		if named == "" {
			expanded = append(expanded, body)
			continue
		}
		if err := copies.spend(body, reconciler+"/"+manifests.AnnotationPhase, named, maxPhases); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", describe(body, i), err))
			continue
		}
		phases := strings.Split(named, separator)
		for _, phase := range phases {
			expanded = append(expanded, inPhase(reconciler, body, strings.TrimSpace(phase), len(phases) > 1))
		}
	}
	return expanded, errors.Join(errs...)
}

// maxPhases is the number of phases.
const maxPhases = 3

func inPhase(reconciler string, body *unstructured.Unstructured, phase string, shared bool) *unstructured.Unstructured {
	body = body.DeepCopy()
	annotations := body.GetAnnotations()
	order, ordered := annotations[reconciler+"/"+manifests.AnnotationPhaseOrder]
	annotations[reconciler+"/"+manifests.AnnotationPhase] = phase
	switch phase {
	case "apply":
		if shared {
			delete(annotations, reconciler+"/"+manifests.AnnotationPhaseOrder)
		}
	default:
		delete(annotations, reconciler+"/"+manifests.AnnotationPhaseOrder)
		if ordered {
			delete(annotations, reconciler+"/"+manifests.AnnotationApplyOrder)
			annotations[reconciler+"/"+manifests.AnnotationOrder] = order
		}
		if shared {
			delete(annotations, reconciler+"/"+manifests.AnnotationPurgeOrder)
			delete(annotations, reconciler+"/"+manifests.AnnotationReapplyInterval)
			delete(annotations, reconciler+"/"+manifests.AnnotationReconcilePolicy)
		}
	}
	body.SetAnnotations(annotations)
	return body
}

// doesWork reports whether the purpose of an object is to run once. This holds for Jobs and Pods in a phase of the
// deletion, and for Jobs and Pods that are recreated when their manifest changes. If such an object is removed after it
// finished, it is not created again.
func doesWork(body *unstructured.Unstructured, s manifests.Settings) bool {
	if s.Phase == manifests.PhaseApply && s.UpdatePolicy != metav1alpha1.UpdateRecreate {
		return false
	}
	return builtintypes.RunsToCompletion(body)
}
