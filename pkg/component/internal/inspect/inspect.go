// Package inspect reduces a live object to the facts that plans are made from. It is pure.
package inspect

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/fieldset"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Object returns the facts of a whole object, as the reconciler of that name sees them. The object is only read.
func Object(obj *unstructured.Unstructured, reconciler string) plan.Observed {
	o := Metadata(obj, reconciler)
	o.Readiness = ready.Of(obj, Hints(obj, reconciler))
	o.Finished = manifests.IsEphemeral(obj) && isComplete(obj)
	o.Retained = retained(obj, reconciler)
	return o
}

// Hints reads the status hints of that reconciler off a live object, which is all that a watch has. What cannot be understood was not written
// by us, and is drift.
func Hints(obj metav1.Object, reconciler string) ready.Hints {
	text, ok := obj.GetAnnotations()[reconciler+"/"+manifests.AnnotationStatusHint]
	if !ok {
		return ready.Hints{}
	}
	parsed, _ := manifests.ParseStatusHints(text)
	return ready.Hints(parsed)
}

// isComplete says of a Job that it succeeded.
func isComplete(job *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(job.Object, "status", "conditions")
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok && m["type"] == "Complete" && m["status"] == "True" {
			return true
		}
	}
	return false
}

// Metadata returns the facts of an object that metadata alone can tell. For kinds without status that is all there is to know.
func Metadata(obj metav1.Object, reconciler string) plan.Observed {
	labels, annotations := obj.GetLabels(), obj.GetAnnotations()
	o := plan.Observed{
		Presence:        plan.Present,
		UID:             obj.GetUID(),
		ResourceVersion: obj.GetResourceVersion(),
		Generation:      obj.GetGeneration(),
		Digest:          annotations[reconciler+"/"+manifests.AnnotationDigest],
		Terminating:     obj.GetDeletionTimestamp() != nil,
		Readiness:       ready.Result{State: ready.Ready},
	}
	if o.Terminating {
		o.Readiness = ready.Result{State: ready.Terminating, Message: "it is being deleted"}
	}
	controller := ""
	if ref := metav1.GetControllerOfNoCopy(obj); ref != nil {
		controller = ref.Kind + " " + ref.Name
	}
	o.Owner, o.OwnerName = manifests.OwnerOf(labels, annotations, reconciler, controller)
	for _, entry := range obj.GetManagedFields() {
		if entry.Subresource != "" {
			continue
		}
		if entry.Manager != reconciler {
			o.Managers = addName(o.Managers, entry.Manager)
			continue
		}
		switch entry.Operation {
		case metav1.ManagedFieldsOperationApply:
			o.Applied = hashEntry(entry)
		case metav1.ManagedFieldsOperationUpdate:
			o.Updated = hashEntry(entry)
		}
	}
	return o
}

// Compare adds to the facts of an object how it relates to a manifest: whether our managed fields cover it, and what values its fields
// have.
func Compare(o plan.Observed, obj *unstructured.Unstructured, manifest manifests.Object, policy metav1alpha1.UpdatePolicy, reconciler string) plan.Observed {
	o.Coverage = plan.CoveragePartial
	if entry := Entry(obj.GetManagedFields(), reconciler, Operation(policy)); entry != nil && covers(manifest.Body.Object, entry) {
		o.Coverage = plan.CoverageFull
	}
	o.Values = hash(project(obj.Object, manifest.Body.Object))
	return o
}

// Operation returns the operation under which a policy's writes appear in the managed fields.
func Operation(policy metav1alpha1.UpdatePolicy) metav1.ManagedFieldsOperationType {
	if policy == metav1alpha1.UpdateReplace {
		return metav1.ManagedFieldsOperationUpdate
	}
	return metav1.ManagedFieldsOperationApply
}

// Entry returns the fields, in the form of FieldsV1, that a manager owns by an operation outside of subresources; nil if it owns none.
// An Update entry under the name of a server-side applier is somebody else's, and the other way round.
func Entry(managed []metav1.ManagedFieldsEntry, manager string, operation metav1.ManagedFieldsOperationType) map[string]any {
	for _, e := range managed {
		if e.Manager == manager && e.Operation == operation && e.Subresource == "" && e.FieldsV1 != nil {
			return fieldset.Decode(e.FieldsV1)
		}
	}
	return nil
}

// hashEntry identifies an entry by its apiVersion and fields, never by its time. The fields are decoded first, because two encodings
// of them may differ in the order of keys.
func hashEntry(e metav1.ManagedFieldsEntry) string {
	if e.FieldsV1 == nil {
		return hash([]any{e.APIVersion, nil})
	}
	return hash([]any{e.APIVersion, fieldset.Decode(e.FieldsV1)})
}

// hash identifies a JSON value; 64 bits keep the inventory small.
func hash(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}
