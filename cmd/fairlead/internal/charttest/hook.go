package charttest

import (
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// The annotations of hooks, and the events of tests: eventTestSuccess is the name of Helm 2, which Helm 3 accepts.
const (
	hookAnnotation         = "helm.sh/hook"
	deletePolicyAnnotation = "helm.sh/hook-delete-policy"
	eventTest              = "test"
	eventTestSuccess       = "test-success"
)

// deletePolicy says when the object of a hook is deleted.
type deletePolicy string

const (
	beforeHookCreation deletePolicy = "before-hook-creation"
	hookSucceeded      deletePolicy = "hook-succeeded"
	hookFailed         deletePolicy = "hook-failed"
)

// isTest reports whether an object of the cluster was created as a test, by this package or by Helm.
func isTest(object *unstructured.Unstructured) bool {
	events := listOf(object.GetAnnotations()[hookAnnotation])
	return slices.Contains(events, eventTest) || slices.Contains(events, eventTestSuccess)
}

// deletedAt reports whether the delete policies of a hook name the given one. A hook without a policy has
// before-hook-creation.
func deletedAt(object *unstructured.Unstructured, policy deletePolicy) bool {
	policies := listOf(object.GetAnnotations()[deletePolicyAnnotation])
	return slices.Contains(policies, string(policy)) || len(policies) == 0 && policy == beforeHookCreation
}

// listOf splits the value of an annotation.
func listOf(text string) []string {
	var parts []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.ToLower(strings.TrimSpace(part)); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// Runs reports whether an object is a Job or a Pod, which a test waits for. All other objects are only created.
func Runs(object *unstructured.Unstructured) bool {
	gk := object.GroupVersionKind().GroupKind()
	return gk == batchv1.SchemeGroupVersion.WithKind("Job").GroupKind() ||
		gk == corev1.SchemeGroupVersion.WithKind("Pod").GroupKind()
}

// holdsOthers reports whether the deletion of an object deletes other objects or data. Such an object is never deleted.
func holdsOthers(object *unstructured.Unstructured) bool {
	switch object.GetKind() {
	case "CustomResourceDefinition", "Namespace", "APIService", "PersistentVolumeClaim":
		return true
	}
	return false
}

// outcome is the state of a Job or Pod.
type outcome string

const (
	running   outcome = ""
	succeeded outcome = "succeeded"
	failed    outcome = "failed"
)

// outcomeOf returns the outcome of a Job or Pod, and the message of a failure.
func outcomeOf(object *unstructured.Unstructured) (result outcome, message string) {
	if object.GetKind() == "Pod" {
		phase, _, _ := unstructured.NestedString(object.Object, "status", "phase")
		message, _, _ = unstructured.NestedString(object.Object, "status", "message")
		switch corev1.PodPhase(phase) {
		case corev1.PodSucceeded:
			return succeeded, ""
		case corev1.PodFailed:
			return failed, message
		case corev1.PodPending, corev1.PodRunning, corev1.PodUnknown:
		}
		return running, ""
	}
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, item := range conditions {
		condition, _ := item.(map[string]any)
		if condition["status"] != string(corev1.ConditionTrue) {
			continue
		}
		switch condition["type"] {
		case string(batchv1.JobComplete):
			return succeeded, ""
		case string(batchv1.JobFailed):
			message, _ = condition["message"].(string)
			return failed, message
		}
	}
	return running, ""
}

// keyOf returns the key of an object.
func keyOf(object *unstructured.Unstructured) manifests.Key {
	gvk := object.GroupVersionKind()
	return manifests.Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: object.GetNamespace(), Name: object.GetName()}
}
