package execute

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/fairlead-io/fairlead/pkg/component/internal/apierror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// rewrite is a function that returns changed managed fields of a live object. The entries are those of the object, with
// the name of the reconciler in our entries. A rewrite does not modify its arguments.
type rewrite func(
	live *unstructured.Unstructured, entries []metav1.ManagedFieldsEntry,
) ([]metav1.ManagedFieldsEntry, error)

// rewriteManagedFields replaces the managed fields of a live object, and changes nothing else. rewriteManagedFields
// returns a conflict if the object is not the observed object, and otherwise the resource version after the write.
func (w *writer) rewriteManagedFields(
	ctx context.Context, resource dynamic.ResourceInterface, a plan.Action, by rewrite,
) (resourceVersion string, err error) {
	live, err := w.planned(ctx, resource, a)
	if err != nil {
		return "", err
	}
	entries, err := by(live, w.view.OwnFields(live.GetManagedFields()))
	if err != nil {
		return "", err
	}
	return w.sendManagedFields(ctx, resource, a, live, entries)
}

// planned reads the live object of an action. It returns a conflict if this is not the object that was observed.
func (w *writer) planned(
	ctx context.Context, resource dynamic.ResourceInterface, a plan.Action,
) (*unstructured.Unstructured, error) {
	live, err := resource.Get(ctx, a.Key.Name, metav1.GetOptions{})
	if apierror.IsNotFound(err) {
		return nil, staleConflict(a)
	}
	if err != nil {
		return nil, err
	}
	found := w.observe(ctx, live, a)
	if found.UID != a.Preconditions.UID || !sameOwner(found, a) || isMarkedSince(found, a) {
		return nil, staleConflict(a)
	}
	return live, nil
}

// sendManagedFields replaces the managed fields of a live object by entries with the name of the reconciler in our
// entries. It sends nothing if they are equal.
func (w *writer) sendManagedFields(
	ctx context.Context, resource dynamic.ResourceInterface, a plan.Action,
	live *unstructured.Unstructured, entries []metav1.ManagedFieldsEntry,
) (resourceVersion string, err error) {
	entries = w.view.SentFields(entries)
	if equality.Semantic.DeepEqual(entries, live.GetManagedFields()) {
		return live.GetResourceVersion(), nil
	}
	if len(entries) == 0 {
		// The API server ignores an empty list. A list with an empty entry removes all managed fields.
		entries = []metav1.ManagedFieldsEntry{{}}
	}
	// The resource version makes the API server return a conflict if the object has changed. A JSON patch operation
	// "test" is not used, because its failure would be reported as an invalid request.
	data, err := json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/managedFields", "value": entries},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": live.GetResourceVersion()},
	})
	if err != nil {
		return "", err
	}
	options := metav1.PatchOptions{FieldManager: w.view.FieldManager()}
	patched, err := resource.Patch(ctx, a.Key.Name, types.JSONPatchType, data, options)
	if err != nil {
		return "", err
	}
	return patched.GetResourceVersion(), nil
}

// rewriteUpdate rewrites the managed fields of an object before an update (PUT), so that one of our Update entries
// covers every field of the manifest. By default, the API server adds only fields whose values change to our entry.
// Fields with equal values stay in the entry of their first manager. Then a later change of such a field by another
// client would not change our entry. The fields of the manifest are also removed from the entries of previous managers.
//
// Each value that is set has a manager. So the entries of all managers together show which lists contain items that are
// identified by keys.
func rewriteUpdate(updated *unstructured.Unstructured, a plan.Action, reconciler string) error {
	entries := updated.GetManagedFields()
	fields, err := fieldsOf(a, entries)
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(slices.Clone(entries), func(e metav1.ManagedFieldsEntry) bool {
		return e.Subresource == "" && (e.Manager == reconciler || a.TransferOf(e.Manager) == plan.TransferToNobody)
	})
	if others, err = removeFields(others, a, fields); err != nil {
		return err
	}
	apiVersion := a.Object.Body.GetAPIVersion()
	entry, err := newEntry(reconciler, metav1.ManagedFieldsOperationUpdate, apiVersion, fields)
	if err != nil {
		return err
	}
	updated.SetManagedFields(append(others, entry))
	return nil
}

// handOverFields returns a rewrite that moves fields to our only Apply entry: the fields of our regular updates, the
// fields that previous managers hand over, and the marks of other tools if the action adopts the object. If a field
// stayed in another entry, a server-side apply of a manifest without the field would not remove the field.
func handOverFields(a plan.Action, reconciler string) rewrite {
	return func(
		live *unstructured.Unstructured, entries []metav1.ManagedFieldsEntry,
	) ([]metav1.ManagedFieldsEntry, error) {
		forged := forgedMarks(live, a, reconciler)
		ours, rest, err := splitEntries(entries, reconciler, a, forged)
		if err == nil {
			ours, rest, err = takeMarks(ours, rest, removedMarks(live, a, reconciler))
		}
		if err == nil {
			ours, err = takeCopies(a, ours, rest)
		}
		if err != nil {
			return nil, err
		}
		fields, err := fieldsOf(a, entries)
		if err != nil {
			return nil, err
		}
		rest, err = removeFields(rest, a, ours.Union(fields).Difference(forged))
		if err != nil || ours.Empty() {
			return rest, err
		}
		entry, err := newEntry(reconciler, metav1.ManagedFieldsOperationApply, a.Object.Body.GetAPIVersion(), ours)
		return append(rest, entry), err
	}
}

// forgedMarks returns the owner marks of an object whose owner label another client has replaced. The apply takes them
// with their values. If the rewrite before it took them, the label of somebody else would seem to be written by us, and
// would stay so if the apply failed.
func forgedMarks(live *unstructured.Unstructured, a plan.Action, reconciler string) *fieldpath.Set {
	label, annotation := reconciler+"/"+manifests.LabelOwnerID, reconciler+"/"+manifests.AnnotationOwnerID
	if owner, found := live.GetLabels()[label]; !found || owner == a.Object.Body.GetLabels()[label] {
		return fieldpath.NewSet()
	}
	return fieldpath.NewSet(
		fieldpath.MakePathOrDie("metadata", "labels", label), fieldpath.MakePathOrDie("metadata", "annotations", annotation))
}

// splitEntries splits managed fields. ours contains the fields of our entries, and of the entries of previous managers
// that hand over all their fields. rest contains the entries of other managers. Entries that are to be removed are
// dropped. Forged fields stay in the entries of other managers.
func splitEntries(
	entries []metav1.ManagedFieldsEntry, reconciler string, a plan.Action, forged *fieldpath.Set,
) (ours *fieldpath.Set, rest []metav1.ManagedFieldsEntry, err error) {
	ours = fieldpath.NewSet()
	for _, entry := range entries {
		handover := a.TransferOf(entry.Manager)
		switch {
		case entry.Subresource != "":
			rest = append(rest, entry)
		case entry.Manager == reconciler, handover == plan.TransferAll, handover == plan.TransferToNobody:
			fields, err := fieldsIn(entry)
			if err != nil {
				return nil, nil, err
			}
			if handover != plan.TransferToNobody || entry.Manager == reconciler {
				ours = ours.Union(fields.Difference(forged))
			}
			if left := fields.Intersection(forged); !left.Empty() && entry.Manager != reconciler {
				kept, err := newEntry(entry.Manager, entry.Operation, entry.APIVersion, left)
				if err != nil {
					return nil, nil, err
				}
				rest = append(rest, kept)
			}
		default:
			rest = append(rest, entry)
		}
	}
	return ours, rest, nil
}

// removeFields removes fields from the entries of the previous managers that hand over only the fields of our manifest
// (plan.TransferShared). An entry that has no fields left is dropped.
func removeFields(
	entries []metav1.ManagedFieldsEntry, a plan.Action, fields *fieldpath.Set,
) ([]metav1.ManagedFieldsEntry, error) {
	var rest []metav1.ManagedFieldsEntry
	for _, entry := range entries {
		if entry.Subresource != "" || a.TransferOf(entry.Manager) != plan.TransferShared {
			rest = append(rest, entry)
			continue
		}
		theirs, err := fieldsIn(entry)
		if err != nil {
			return nil, err
		}
		left := theirs.Difference(fields)
		if left.Empty() {
			continue
		}
		other, err := newEntry(entry.Manager, entry.Operation, entry.APIVersion, left)
		if err != nil {
			return nil, err
		}
		other.Time = entry.Time
		rest = append(rest, other)
	}
	return rest, nil
}

// fieldsOf returns the fields that the manifest of an action sets. The managed fields entries show how the API server
// divides the object into fields; fields that no entry has are left out.
func fieldsOf(a plan.Action, entries []metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	data, err := json.Marshal(inspect.FieldsOf(a.Object.Body.Object, inspect.Shape(entries)))
	if err != nil {
		return nil, err
	}
	set := fieldpath.NewSet()
	return set, set.FromJSON(bytes.NewReader(data))
}

func fieldsIn(entry metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	set := fieldpath.NewSet()
	if entry.FieldsV1 == nil {
		return set, nil
	}
	return set, set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes()))
}

func newEntry(
	manager string, operation metav1.ManagedFieldsOperationType, apiVersion string, fields *fieldpath.Set,
) (metav1.ManagedFieldsEntry, error) {
	data, err := fields.ToJSON()
	if err != nil {
		return metav1.ManagedFieldsEntry{}, err
	}
	f := &metav1.FieldsV1{}
	f.SetRawBytes(data)
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: operation, APIVersion: apiVersion, FieldsType: "FieldsV1", FieldsV1: f,
	}, nil
}

// convertVersions returns a rewrite that sets the apiVersion of all entries of the same API group. The API server
// checks an object against the version of each entry, and refuses a server-side apply if a version lacks a field or is
// not served any more.
func convertVersions(apiVersion string) rewrite {
	group, _, _ := strings.Cut(apiVersion, "/")
	return func(
		_ *unstructured.Unstructured, entries []metav1.ManagedFieldsEntry,
	) ([]metav1.ManagedFieldsEntry, error) {
		converted := make([]metav1.ManagedFieldsEntry, len(entries))
		for i, entry := range entries {
			if of, err := schema.ParseGroupVersion(entry.APIVersion); err == nil && of.Group == group {
				entry.APIVersion = apiVersion
			}
			converted[i] = entry
		}
		return converted, nil
	}
}
