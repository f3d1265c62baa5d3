package inspect

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/fieldpath"
	"github.com/fairlead-io/fairlead/internal/fieldset"
	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Compare adds facts about an object and its manifest: whether our managed fields cover all fields of the manifest, a
// hash of the live values of these fields, and which of our values were overridden. Ignored fields and the annotation
// that names the object do not count.
func Compare(
	o plan.Observed, obj *unstructured.Unstructured, manifest manifests.Object,
	policy metav1alpha1.UpdatePolicy, reconciler string,
) plan.Observed {
	o.Coverage = plan.CoveragePartial
	entry := Entry(obj.GetManagedFields(), reconciler, Operation(policy))
	ignored := manifest.Settings.IgnoredPaths()
	desired := fieldpath.Strip(withoutName(manifest.Body.Object, reconciler), ignored)
	if entry != nil && covers(desired, entry) {
		o.Coverage = plan.CoverageFull
	}
	o.Values = hash(project(fieldpath.Strip(obj.Object, ignored), desired))
	if text := overridden(obj.Object, desired, entry, manifest, reconciler); text != "" {
		o.Response = &plan.Response{Overridden: text}
	}
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

// hashEntry returns a hash of the apiVersion and the fields of an entry, without its time and without ignored fields.
// The fields are decoded first, because two encodings of the same fields may order their keys differently.
func hashEntry(e metav1.ManagedFieldsEntry, annotations map[string]string, reconciler string) string {
	if e.FieldsV1 == nil {
		return hash([]any{e.APIVersion, nil})
	}
	fields := fieldset.Decode(e.FieldsV1)
	return hash([]any{e.APIVersion, fieldpath.Mask(fields, ownIgnored(fields, annotations, reconciler))})
}

// ownIgnored returns the ignored fields by those annotations of a live object that are among our fields. A rule that
// another client wrote to the live object would hide the changes of this client.
func ownIgnored(fields map[string]any, annotations map[string]string, reconciler string) []fieldpath.Path {
	if len(marks.LiveIgnored(annotations, reconciler)) == 0 {
		return nil
	}
	return marks.IgnoredOf(ownAnnotations(fields, annotations), reconciler)
}

// ownAnnotations returns the annotations of a live object that are among our fields.
func ownAnnotations(fields map[string]any, annotations map[string]string) map[string]string {
	metadata, _ := fields["f:metadata"].(map[string]any)
	ours, _ := metadata["f:annotations"].(map[string]any)
	own := map[string]string{}
	for key, value := range annotations {
		if _, owned := ours["f:"+key]; owned {
			own[key] = value
		}
	}
	return own
}

// Ignored returns the ignored fields of a live object by those of its annotations that the reconciler wrote, under any
// update policy.
func Ignored(obj metav1.Object, reconciler string) []manifests.Ignored {
	annotations := obj.GetAnnotations()
	if len(marks.LiveIgnored(annotations, reconciler)) == 0 {
		return nil
	}
	own := map[string]string{}
	for _, operation := range []metav1.ManagedFieldsOperationType{
		metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate,
	} {
		maps.Insert(own, maps.All(ownAnnotations(Entry(obj.GetManagedFields(), reconciler, operation), annotations)))
	}
	return marks.LiveIgnored(own, reconciler)
}

// hash returns a hash of a JSON value. The hash consists of only 64 bits, to keep inventories small.
func hash(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}
