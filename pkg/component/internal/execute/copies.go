package execute

import (
	"bytes"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/fairlead-io/fairlead/internal/fieldset"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/serverrules"
)

// takeCopies returns our fields with the copies of those that the manifest drops, and with the defaults that the API
// server derives from others, so that the update removes them, too. What others own stays.
func takeCopies(
	a plan.Action, ours *fieldpath.Set, others []metav1.ManagedFieldsEntry,
) (*fieldpath.Set, error) {
	kind := a.Key.GroupKind()
	if !serverrules.MayDrop(kind) {
		return ours, nil
	}
	theirs := fieldpath.NewSet()
	for _, entry := range others {
		fields, err := fieldsIn(entry)
		if err != nil {
			return nil, err
		}
		theirs = theirs.Union(fields)
	}
	return serverrules.TakeCopies(kind, a.Object.Body.Object, ours, theirs), nil
}

// withCopies is takeCopies for our fields in the form of FieldsV1. Fields that cannot be converted are returned as they
// are, and their copies stay.
func withCopies(
	a plan.Action, owned map[string]any, live *unstructured.Unstructured, reconciler string,
) map[string]any {
	if !serverrules.MayDrop(a.Key.GroupKind()) {
		return owned
	}
	data, err := json.Marshal(owned)
	if err != nil {
		return owned
	}
	ours := fieldpath.NewSet()
	if err := ours.FromJSON(bytes.NewReader(data)); err != nil {
		return owned
	}
	_, others := splitManaged(live.GetManagedFields(), reconciler, a.Policy)
	if ours, err = takeCopies(a, ours, others); err != nil {
		return owned
	}
	if data, err = ours.ToJSON(); err != nil {
		return owned
	}
	fields := &metav1.FieldsV1{}
	fields.SetRawBytes(data)
	return fieldset.Decode(fields)
}

// sent returns the manifest as it is sent.
func sent(a plan.Action) map[string]any {
	complete := serverrules.Complete(a.Key.GroupKind(), a.Object.Body.Object)
	return serverrules.WithoutNulls(a.Object.Body.GroupVersionKind(), complete)
}
