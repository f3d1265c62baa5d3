package execute

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/fieldpath"
	"github.com/fairlead-io/fairlead/pkg/component/internal/apierror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// maxIgnoringAttempts is the maximum number of attempts of an apply that keeps ignored fields. The status of a workload
// may change often.
const maxIgnoringAttempts = 4

// ignoredError is returned if a rule of ignored fields contradicts how the API server divides an object into fields.
type ignoredError struct{ err error }

func (e *ignoredError) Error() string { return "ignored fields: " + e.err.Error() }

func (e *ignoredError) Unwrap() error { return e.err }

// applyIgnoring updates an object with ignored fields by server-side apply. It reads the object, sends the live values
// of the ignored fields that only the reconciler owns, and leaves out the others. If another client wrote the object in
// the meantime, the managers may have changed, so it is read again. version is the resource version at which the action
// was planned, or "" if the version does not matter.
func (w *writer) applyIgnoring(
	ctx context.Context, resource dynamic.ResourceInterface, a plan.Action, version string,
) (*plan.Observed, error) {
	exact := a.Preconditions.Exact
	for attempt := 1; ; attempt++ {
		live, err := resource.Get(ctx, a.Key.Name, metav1.GetOptions{})
		if apierror.IsNotFound(err) {
			return nil, staleConflict(a)
		}
		if err != nil {
			return nil, err
		}
		if live.GetUID() != a.Preconditions.UID || exact && live.GetResourceVersion() != version {
			return nil, staleConflict(a)
		}
		prepared, err := w.keepIgnored(a, live)
		if err != nil {
			return nil, err
		}
		prepared.Preconditions.Exact = true
		found, err := w.applyVersion(ctx, resource, prepared, live.GetResourceVersion())
		if !apierrors.IsConflict(err) || exact || attempt == maxIgnoringAttempts {
			return found, err
		}
	}
}

// keepIgnored returns the action with a manifest that changes no ignored field of the live object. The action is
// returned unchanged if it has no ignored fields.
func (w *writer) keepIgnored(a plan.Action, live *unstructured.Unstructured) (plan.Action, error) {
	paths := a.Object.Settings.IgnoredPaths()
	if len(paths) == 0 {
		return a, nil
	}
	ours, others := splitManaged(w.view.OwnFields(live.GetManagedFields()), w.reconciler, a.Policy)
	body, err := fieldpath.Prepare(a.Object.Body.Object, fieldpath.Live{
		Object: live.Object, Ours: inspect.Shape(ours), Others: inspect.Shape(others),
	}, paths)
	if err != nil {
		return a, &ignoredError{err}
	}
	object := *a.Object
	object.Body = &unstructured.Unstructured{Object: body}
	a.Object = &object
	return a, nil
}

// splitManaged splits managed fields into those of the reconciler and all others. A server-side apply deletes only
// fields of the entry with the operation Apply.
func splitManaged(
	entries []metav1.ManagedFieldsEntry, reconciler string, policy metav1alpha1.UpdatePolicy,
) (ours, others []metav1.ManagedFieldsEntry) {
	for _, e := range entries {
		isOurs := e.Manager == reconciler && e.Subresource == ""
		if isOurs && (policy == metav1alpha1.UpdateReplace || e.Operation == metav1.ManagedFieldsOperationApply) {
			ours = append(ours, e)
			continue
		}
		others = append(others, e)
	}
	return ours, others
}
