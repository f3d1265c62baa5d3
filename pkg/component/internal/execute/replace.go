package execute

import (
	"context"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/internal/fieldpath"
	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/pkg/component/internal/apierror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// replace reads an object, merges the manifest into it, and sends an update with the resource version of the read. If
// the object already has all values of the manifest, and our managed fields entry contains all fields of the manifest,
// replace sends no update.
func (w *writer) replace(ctx context.Context, a plan.Action) (*plan.Observed, error) {
	resource, err := w.clients.resource(a)
	if err != nil {
		return nil, err
	}
	live, err := resource.Get(ctx, a.Key.Name, metav1.GetOptions{})
	if apierror.IsNotFound(err) {
		return nil, staleConflict(a)
	}
	if err != nil {
		return nil, err
	}
	found := w.observe(ctx, live, a)
	live = w.view.Own(live)
	if found.UID != a.Preconditions.UID || !sameOwner(found, a) || isMarkedSince(found, a) {
		return nil, staleConflict(a)
	}
	if a, err = w.keepIgnored(a, live); err != nil {
		return nil, err
	}
	owned := withCopies(a, droppableFields(live, found, a, w.reconciler), live, w.reconciler)
	merged, changed := merge(live, sent(a), fieldpath.Mask(owned, a.Object.Settings.IgnoredPaths()))
	if !changed && found.Coverage == plan.CoverageFull && !a.Forced {
		return found, nil
	}
	updated := &unstructured.Unstructured{Object: merged}
	removeMarks(updated, removedMarks(live, a, w.reconciler))
	if entries := w.restoredFields(ctx, resource, live, a); entries != nil {
		updated.SetManagedFields(entries)
	}
	if err := rewriteUpdate(updated, a, w.reconciler); err != nil {
		return nil, err
	}
	updated.SetManagedFields(w.view.SentFields(updated.GetManagedFields()))
	obj, err := w.update(ctx, resource, a, live, updated)
	if err != nil {
		return nil, err
	}
	return w.observe(ctx, obj, a), nil
}

// update sends an update of a live object. If the API server refuses the update for fields that the manifest excludes,
// and nobody needs them, update sends it again without these fields. The managed fields of the live object have the
// name of the reconciler in our entries.
func (w *writer) update(
	ctx context.Context, resource dynamic.ResourceInterface, a plan.Action, live, updated *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	options := metav1.UpdateOptions{FieldManager: w.view.FieldManager()}
	obj, refused := resource.Update(ctx, updated, options)
	if !mayExclude(a, refused) {
		return obj, refused
	}
	excluded, err := exclusion{w.reconciler, a, live.GetManagedFields()}.droppable(live)
	switch {
	case err != nil:
		return nil, &excludedError{error: refused, hint: err.Error()}
	case len(excluded) == 0:
		return nil, refused
	}
	updated = updated.DeepCopy()
	for _, b := range excluded {
		b.Drop(updated.Object)
	}
	obj, err = resource.Update(ctx, updated, options)
	if apierrors.IsInvalid(err) {
		return nil, refused
	}
	return obj, err
}

// droppableFields returns the fields of a live object that the reconciler owns, and that it removes if the manifest
// does not have them. If the last applied manifest has the same content as the manifest of a, the two manifests differ
// at most in settings, so droppableFields returns only annotations with settings. The other owned fields that are not
// in the manifest were set by defaults of the API server or by admission when the object was created. A repair must not
// remove these fields.
func droppableFields(
	live *unstructured.Unstructured, found *plan.Observed, a plan.Action, reconciler string,
) map[string]any {
	owned := inspect.Shape(slices.DeleteFunc(live.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager != reconciler || entry.Subresource != ""
	}))
	if digests.SameContent(found.Digest, a.Object.Digest) {
		return settingsAmong(owned, reconciler)
	}
	return owned
}

// settingsAmong returns only those fields that are annotations with settings of the reconciler.
func settingsAmong(fields map[string]any, reconciler string) map[string]any {
	settings := maps.Clone(fieldsBelow(fieldsBelow(fields["f:metadata"])["f:annotations"]))
	maps.DeleteFunc(settings, func(field string, _ any) bool {
		return !settingtext.IsMark(reconciler, strings.TrimPrefix(field, "f:"))
	})
	return map[string]any{"f:metadata": map[string]any{"f:annotations": settings}}
}

// restoredFields returns new managed fields for an object whose managed fields were removed: the managed fields that
// the object would have after a server-side apply. restoredFields makes a dry run to get these managed fields.
// restoredFields returns nil if no managed fields were removed, or if the dry run fails.
func (w *writer) restoredFields(
	ctx context.Context, resource dynamic.ResourceInterface, live *unstructured.Unstructured, a plan.Action,
) []metav1.ManagedFieldsEntry {
	if !fieldsRemoved(live, a, w.reconciler) {
		return nil
	}
	obj, err := w.patch(ctx, resource, a, map[string]any{"uid": string(a.Preconditions.UID)}, metav1.DryRunAll)
	if err != nil {
		return nil
	}
	return w.view.OwnFields(obj.GetManagedFields())
}

// fieldsRemoved reports whether another client removed our managed fields entry, or all entries. After such a removal,
// the remaining entries do not show how the API server divides the object into fields.
func fieldsRemoved(live *unstructured.Unstructured, a plan.Action, reconciler string) bool {
	entries := live.GetManagedFields()
	if len(entries) == 0 {
		return true
	}
	return !a.Reason.Adopts() && !slices.ContainsFunc(entries, func(m metav1.ManagedFieldsEntry) bool {
		return m.Manager == reconciler && m.Subresource == ""
	})
}
