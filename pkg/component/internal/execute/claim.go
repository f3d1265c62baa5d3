package execute

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// claim rewrites the managed fields of an object that is about to be updated (PUT), so that one Update entry of ours covers every field
// of the manifest. The API server adds the fields that change, but would leave equal values to whoever set them first; then a later
// change of them by others could not be told from our own entry. Predecessors lose what we claim.
//
// Which lists have items with an identity is read off the entries of all managers together: whatever is set has an owner.
func claim(updated *unstructured.Unstructured, a plan.Action, reconciler string) error {
	entries := updated.GetManagedFields()
	fields, err := fieldsOf(a, entries)
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(slices.Clone(entries), func(e metav1.ManagedFieldsEntry) bool {
		return e.Subresource == "" && (e.Manager == reconciler || a.HandsOver(e.Manager) == plan.HandoverForgotten)
	})
	if others, err = release(others, a, fields); err != nil {
		return err
	}
	entry, err := newEntry(reconciler, metav1.ManagedFieldsOperationUpdate, a.Object.Body.GetAPIVersion(), fields)
	if err != nil {
		return err
	}
	updated.SetManagedFields(append(others, entry))
	return nil
}

// isStripped says that somebody took our entry out of the managed fields, or all of them. Then nothing shows how the API server takes the
// object apart.
func (e *Executor) isStripped(live *unstructured.Unstructured, a plan.Action) bool {
	entries := live.GetManagedFields()
	if len(entries) == 0 {
		return true
	}
	return a.Reason != plan.ReasonAdopted && a.Reason != plan.ReasonTakenOver && !slices.ContainsFunc(entries, func(m metav1.ManagedFieldsEntry) bool {
		return m.Manager == e.reconciler && m.Subresource == ""
	})
}

// restored returns, for an object whose managed fields somebody stripped, those that a server-side apply would leave, without doing it. Where
// they are not stripped, or that is refused, it is nil.
func (e *Executor) restored(
	ctx context.Context, resource dynamic.ResourceInterface, live *unstructured.Unstructured, a plan.Action,
) []metav1.ManagedFieldsEntry {
	if !e.isStripped(live, a) {
		return nil
	}
	obj, err := e.patch(ctx, resource, a, map[string]any{"uid": string(a.Preconditions.UID)}, metav1.DryRunAll)
	if err != nil {
		return nil
	}
	return obj.GetManagedFields()
}
