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

// Object returns the facts about a whole object, from the view of the reconciler with the given name.
func Object(obj *unstructured.Unstructured, reconciler string) plan.Observed {
	o := Metadata(obj, reconciler)
	o.Readiness = ready.Of(obj, Hints(obj, reconciler))
	o.Finished = manifests.IsEphemeral(obj) && hasSucceeded(obj)
	o.Retained = retained(obj, reconciler)
	o.Unserved = Unserved(obj)
	return o
}

// Hints returns the status hints in the reconciler's annotation of a live object. A watch does not have the manifest,
// so it can read the hints only from this annotation. Unreadable hints are ignored, because they are drift: another
// client changed the annotation, and a later pass repairs it.
func Hints(obj metav1.Object, reconciler string) ready.Hints {
	text, ok := obj.GetAnnotations()[reconciler+"/"+manifests.AnnotationStatusHint]
	if !ok {
		return ready.Hints{}
	}
	parsed, _ := manifests.ParseStatusHints(text)
	return ready.Hints(parsed)
}

// hasSucceeded reports whether a Job completed successfully.
func hasSucceeded(job *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(job.Object, "status", "conditions")
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok && m["type"] == "Complete" && m["status"] == "True" {
			return true
		}
	}
	return false
}

// Metadata returns the facts about an object that can be read from its metadata. For types without a status, Object
// adds no further facts.
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

// Compare adds two facts about an object and its manifest: whether our managed fields cover all fields of the manifest,
// and a hash of the live values of these fields.
func Compare(
	o plan.Observed, obj *unstructured.Unstructured, manifest manifests.Object,
	policy metav1alpha1.UpdatePolicy, reconciler string,
) plan.Observed {
	o.Coverage = plan.CoveragePartial
	entry := Entry(obj.GetManagedFields(), reconciler, Operation(policy))
	if entry != nil && covers(manifest.Body.Object, entry) {
		o.Coverage = plan.CoverageFull
	}
	o.Values = hash(project(obj.Object, manifest.Body.Object))
	return o
}

// Operation returns the operation under which the writes of an update policy are listed in the managed fields.
func Operation(policy metav1alpha1.UpdatePolicy) metav1.ManagedFieldsOperationType {
	if policy == metav1alpha1.UpdateReplace {
		return metav1.ManagedFieldsOperationUpdate
	}
	return metav1.ManagedFieldsOperationApply
}

// Entry returns the fields of a managed fields entry, in the form of FieldsV1: the entry with the given manager and
// operation, and without a subresource. Entry returns nil if there is no such entry. The operation must match: an entry
// with our name and another operation belongs to another client.
func Entry(
	managed []metav1.ManagedFieldsEntry, manager string, operation metav1.ManagedFieldsOperationType,
) map[string]any {
	for _, e := range managed {
		if e.Manager == manager && e.Operation == operation && e.Subresource == "" && e.FieldsV1 != nil {
			return fieldset.Decode(e.FieldsV1)
		}
	}
	return nil
}

// hashEntry returns a hash of the apiVersion and the fields of an entry, without its time. The fields are decoded
// first, because two encodings of the same fields may order their keys differently.
func hashEntry(e metav1.ManagedFieldsEntry) string {
	if e.FieldsV1 == nil {
		return hash([]any{e.APIVersion, nil})
	}
	return hash([]any{e.APIVersion, fieldset.Decode(e.FieldsV1)})
}

// hash returns a hash of a JSON value. The hash has only 64 bits, to keep inventories small.
func hash(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}
