package execute

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
)

// claim rewrites the managed fields of an object that is about to be updated (PUT), so that one Update entry of ours covers every field
// of the manifest. The API server adds the fields that change, but would leave equal values to whoever set them first; then a later
// change of them by others could not be told from our own entry.
//
// Which lists have items with an identity is read off the entries of all managers together: whatever is set has an owner.
func claim(updated, manifest *unstructured.Unstructured, reconciler string) error {
	entries := updated.GetManagedFields()
	fields, err := json.Marshal(inspect.FieldsOf(manifest.Object, inspect.Shape(entries)))
	if err != nil {
		return err
	}
	entries = slices.DeleteFunc(slices.Clone(entries), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == reconciler && e.Subresource == ""
	})
	f := &metav1.FieldsV1{}
	f.SetRawBytes(fields)
	entries = append(entries, metav1.ManagedFieldsEntry{
		Manager: reconciler, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: manifest.GetAPIVersion(),
		FieldsType: "FieldsV1", FieldsV1: f,
	})
	updated.SetManagedFields(entries)
	return nil
}
