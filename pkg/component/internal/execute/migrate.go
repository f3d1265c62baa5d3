package execute

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// rewrite returns other managed fields for those of an object, which it does not change.
type rewrite func(entries []metav1.ManagedFieldsEntry) ([]metav1.ManagedFieldsEntry, error)

// migrate rewrites the managed fields of the object that was observed, and nothing else. It returns the resource version that this leaves.
func (e *Executor) migrate(ctx context.Context, resource dynamic.ResourceInterface, a plan.Action, by rewrite) (resourceVersion string, err error) {
	live, err := resource.Get(ctx, a.Key.Name, metav1.GetOptions{})
	if isNotFound(err) {
		return "", overtaken(a)
	}
	if err != nil {
		return "", err
	}
	if found := e.observe(live, a); found.UID != a.Preconditions.UID || !inSameHands(found, a) {
		return "", overtaken(a)
	}
	entries, err := by(live.GetManagedFields())
	if err != nil || equality.Semantic.DeepEqual(entries, live.GetManagedFields()) {
		return live.GetResourceVersion(), err
	}
	if len(entries) == 0 {
		// The API server takes an empty list for one that was left out, and a list of an empty entry for an empty one.
		entries = []metav1.ManagedFieldsEntry{{}}
	}
	// The resource version is replaced, not tested: that makes a conflict where a test makes an invalid request.
	data, err := json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/managedFields", "value": entries},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": live.GetResourceVersion()},
	})
	if err != nil {
		return "", err
	}
	patched, err := resource.Patch(ctx, a.Key.Name, types.JSONPatchType, data, metav1.PatchOptions{FieldManager: e.reconciler})
	if err != nil {
		return "", err
	}
	return patched.GetResourceVersion(), nil
}

// handOver lists under one Apply entry of ours the fields that regular updates left as ours, and those that predecessors hand over. Where
// they stay listed under another entry, a later manifest that drops one cannot remove it.
func (e *Executor) handOver(a plan.Action) rewrite {
	return func(entries []metav1.ManagedFieldsEntry) ([]metav1.ManagedFieldsEntry, error) {
		ours, rest, err := takeOurs(entries, e.reconciler, a)
		if err != nil {
			return nil, err
		}
		claims, err := fieldsOf(a, entries)
		if err != nil {
			return nil, err
		}
		rest, err = release(rest, a, ours.Union(claims))
		if err != nil || ours.Empty() {
			return rest, err
		}
		entry, err := newEntry(e.reconciler, metav1.ManagedFieldsOperationApply, a.Object.Body.GetAPIVersion(), ours)
		return append(rest, entry), err
	}
}

// takeOurs splits managed fields into what is ours, or becomes it, and the entries that remain.
func takeOurs(entries []metav1.ManagedFieldsEntry, reconciler string, a plan.Action) (ours *fieldpath.Set, rest []metav1.ManagedFieldsEntry, err error) {
	ours = fieldpath.NewSet()
	for _, entry := range entries {
		handover := a.HandsOver(entry.Manager)
		switch {
		case entry.Subresource != "":
			rest = append(rest, entry)
		case entry.Manager == reconciler, handover == plan.HandoverAll:
			fields, err := fieldsIn(entry)
			if err != nil {
				return nil, nil, err
			}
			ours = ours.Union(fields)
		case handover != plan.HandoverForgotten:
			rest = append(rest, entry)
		}
	}
	return ours, rest, nil
}

// release takes fields out of the entries of predecessors. An entry that has none left goes.
func release(entries []metav1.ManagedFieldsEntry, a plan.Action, claims *fieldpath.Set) ([]metav1.ManagedFieldsEntry, error) {
	var kept []metav1.ManagedFieldsEntry
	for _, entry := range entries {
		if entry.Subresource != "" || a.HandsOver(entry.Manager) != plan.HandoverOurs {
			kept = append(kept, entry)
			continue
		}
		fields, err := fieldsIn(entry)
		if err != nil {
			return nil, err
		}
		left := fields.Difference(claims)
		if left.Empty() {
			continue
		}
		other, err := newEntry(entry.Manager, entry.Operation, entry.APIVersion, left)
		if err != nil {
			return nil, err
		}
		other.Time = entry.Time
		kept = append(kept, other)
	}
	return kept, nil
}

// fieldsOf returns the fields that the manifest of an action sets, as far as managed fields show how the API server takes it apart.
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

func newEntry(manager string, operation metav1.ManagedFieldsOperationType, apiVersion string, fields *fieldpath.Set) (metav1.ManagedFieldsEntry, error) {
	data, err := fields.ToJSON()
	if err != nil {
		return metav1.ManagedFieldsEntry{}, err
	}
	f := &metav1.FieldsV1{}
	f.SetRawBytes(data)
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, APIVersion: apiVersion, FieldsType: "FieldsV1", FieldsV1: f}, nil
}

// convert relabels entries of other versions. The API server checks an object against the version of each entry, and refuses a server-side
// apply where one lacks a field, or is not served any more.
func convert(apiVersion string) rewrite {
	group, _, _ := strings.Cut(apiVersion, "/")
	return func(entries []metav1.ManagedFieldsEntry) ([]metav1.ManagedFieldsEntry, error) {
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
