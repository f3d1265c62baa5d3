package component

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Hook is a function of the operator's author that is called at a certain point of a pass. A hook occupies one of the
// reconciler's workers, so it must not wait. The context of a hook ends after 30 seconds. A hook is called in many
// passes, so it must be idempotent.
//
// An error ends the pass. By default the error is treated as temporary, and the hook is called again within seconds;
// RetryAfter sets another delay. A reconcile.TerminalError makes the component Stalled with reason HookFailed. A panic
// is treated as a terminal error.
type Hook[T Component] func(ctx context.Context, component T, dependents DependentReader) error

// Hooks are functions that are called in the passes over a component. Each hook may be nil.
//
// Changes that a hook makes to the component are visible in the rest of the pass, but are not persisted. A hook that
// has to persist the author's part of the status calls Reconciler.UpdateStatus, and for the spec or the metadata it
// calls Reconciler.Update.
type Hooks[T Component] struct {
	// PostRead is called first in every pass, also when the component is suspended or being deleted. PostRead may fill
	// in defaults.
	PostRead Hook[T]
	// PreReconcile is called in every pass over a component that is neither suspended nor being deleted, before the
	// pass reads the spec of the component and before the pass writes anything. If there are deletion hooks, the
	// component already has the reconciler's finalizer.
	PreReconcile Hook[T]
	// PostReconcile is called at the end of each pass over a component that is neither suspended nor being deleted, if
	// all dependents are applied and ready, and no object is left to be pruned. The component becomes Ready when the
	// hook succeeds.
	PostReconcile Hook[T]
	// PreDelete is called before the first dependent is deleted. PreDelete is not called while the component has
	// finalizers of other controllers, or while foreign instances block the deletion. As long as the hook fails,
	// nothing is deleted. After the hook has succeeded, it is called again only if the operator is restarted during the
	// deletion.
	PreDelete Hook[T]
	// PostDelete is called when no dependent exists any more. As long as the hook fails, the component is not removed. The
	// hook may be called again after it succeeded, if the finalizer could not be removed from the component.
	PostDelete Hook[T]
	// PostFailure is called at the end of a pass that failed, also in a deletion: a step or a hook returned an error, or
	// a dependent failed. The pass is reported after the hook. An error of the hook is added to the message of the
	// failure.
	PostFailure func(ctx context.Context, component T, dependents DependentReader, failure *PassError) error
	// PostPass is called at the end of each pass, after PostReconcile or PostFailure, although not all dependents are
	// ready, and also in a deletion. An error of the hook makes the pass fail.
	//
	// PostFailure and PostPass are not called while a component is suspended, and not at the end of a pass without a
	// result: the first lists of watches are not complete, a change of the component interrupted the pass, or the
	// component is deleted. If PostFailure fails, PostPass is not called.
	PostPass func(ctx context.Context, component T, dependents DependentReader, result PassResult) error
}

// PassResult is what the hook PostPass learns about a pass that has ended.
type PassResult struct {
	// Outcome contains the dependents that the pass waits for, and its changes. It is empty if the pass ended before it
	// looked at the dependents.
	Outcome result.Outcome
	// Failure is the failure of the pass, or nil.
	Failure *PassError
}

// DependentReader reads the dependents of one component.
type DependentReader interface {
	// Get reads a live dependent from the target, as the component's identity. Objects of the kinds in
	// Options.Watching.CacheFull are read from the cache, without a request, also right after a write, whose response
	// is cached. The error is IsNotFound if the object does not exist or is not a dependent of the component. The
	// object is never older than the last write of this process. The caller may change it.
	//
	// For an external, Get makes no call. It returns the last observation in the form of an object: spec is the applied
	// spec, status the observed state, and id the id; metadata.uid is the token. The error is not IsNotFound while it is
	// not known whether the external exists.
	//
	// An object that the component only observes is read from the API server in each call. It is found by the last plan,
	// so before the first plan the error is IsNotFound.
	//
	// If no dependent has the group and kind of the key, and the target does not serve them, the error is terminal, and
	// meta.IsNoMatchError reports true for a kind of objects. As long as the kind may be missing for another reason, the
	// error is IsNotFound: not all dependents of the current generation were applied once, the component is being
	// deleted, or conditions leave out dependents.
	Get(ctx context.Context, key manifests.Key) (*unstructured.Unstructured, error)
	// List returns all existing dependents of a kind, sorted by namespace and name. Each of them is read as by Get, also
	// externals and objects that the component only observes. The kind of externals has the group external.Group. For a
	// wrong group or kind, the error is that of Get.
	List(ctx context.Context, kind schema.GroupKind) ([]*unstructured.Unstructured, error)
	// Desired returns a manifest of this pass, with the labels and annotations of the reconciler. It makes no request.
	// Values that the annotation bind inserts are not in it. An object whose condition include-when is false has a
	// manifest, too. The error is IsNotFound if the rendering contains no such object. Only the hooks PostReconcile,
	// PostFailure and PostPass can call it: before them, and in a deletion, nothing is rendered, and the error says so.
	// The caller may change the object.
	Desired(key manifests.Key) (*unstructured.Unstructured, error)
}

// As converts a dependent that a DependentReader returned to a Go type, as in
//
//	deployment, err := component.As[*appsv1.Deployment](dependents.Get(ctx, key))
//
// An error of the reader is returned unchanged.
func As[S client.Object](dependent *unstructured.Unstructured, err error) (S, error) {
	var none S
	if err != nil {
		return none, err
	}
	converted, err := newObject[S]()
	if err != nil {
		return none, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(dependent.Object, converted); err != nil {
		return none, fmt.Errorf("%s %s is no %T: %w", dependent.GetKind(), dependent.GetName(), none, err)
	}
	return converted, nil
}

// ListAs converts the dependents that a DependentReader returned to a Go type, as As does:
//
//	pods, err := component.ListAs[*corev1.Pod](dependents.List(ctx, schema.GroupKind{Kind: "Pod"}))
func ListAs[S client.Object](dependents []*unstructured.Unstructured, err error) ([]S, error) {
	if err != nil {
		return nil, err
	}
	list := make([]S, 0, len(dependents))
	for _, dependent := range dependents {
		converted, err := As[S](dependent, nil)
		if err != nil {
			return nil, err
		}
		list = append(list, converted)
	}
	return list, nil
}

// KeyOf returns the key of an object with a Go type of the scheme, for example for DependentReader.Get. The object
// needs a name, and a namespace if it is namespaced. An unstructured object needs no scheme.
func KeyOf(scheme *runtime.Scheme, obj client.Object) (manifests.Key, error) {
	gvk, err := apiutil.GVKForObject(obj, scheme)
	if err != nil {
		return manifests.Key{}, err
	}
	return manifests.Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}, nil
}
