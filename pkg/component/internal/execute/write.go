package execute

import (
	"context"
	"encoding/json"
	"errors"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/apitext"
	"github.com/fairlead-io/fairlead/internal/builtintypes"
	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/component/internal/apierror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// writer sends the requests of actions.
type writer struct {
	// reconciler is the name of the reconciler.
	reconciler string
	// view reduces the objects in responses to facts, and contains the field manager of all writes.
	view    inspect.View
	clients clients
	tracker WriteTracker
	// onAnswer, if set, is called with each object in a response.
	onAnswer func(*unstructured.Unstructured)
	// dryRun is set if the API server stores nothing.
	dryRun bool
}

// perform carries out an action. If the action takes the object over from another owner, perform does that first.
func (w *writer) perform(ctx context.Context, a plan.Action) (*plan.Observed, error) {
	if a.TakesOver() {
		var err error
		if a, err = w.takeOver(ctx, a); err != nil {
			return nil, err
		}
	}
	switch a.Verb {
	case plan.VerbCreate:
		return w.create(ctx, a)
	case plan.VerbApply:
		return w.apply(ctx, a)
	case plan.VerbReplace:
		return w.replace(ctx, a)
	case plan.VerbCreateNamespace:
		return w.createNamespace(ctx, a)
	case plan.VerbDelete:
		return w.delete(ctx, a)
	case plan.VerbOrphan:
		return w.orphan(ctx, a)
	case plan.VerbRead:
		return w.read(ctx, a)
	case plan.VerbTryDelete, plan.VerbGuard, plan.VerbProbe, plan.VerbUnguard:
	}
	return nil, &unknownVerbError{a}
}

// unknownVerbError is returned for an action that cannot be carried out.
type unknownVerbError struct{ action plan.Action }

func (e *unknownVerbError) Error() string {
	return "unknown verb: " + string(e.action.Verb) + " " + e.action.Key.String()
}

// observe returns the facts about the object in a response. If the action has a manifest, the facts include the
// comparison with the manifest.
func (w *writer) observe(ctx context.Context, obj *unstructured.Unstructured, a plan.Action) *plan.Observed {
	if w.onAnswer != nil {
		w.onAnswer(obj)
	}
	w.tracker.Received(a.Key, obj)
	previous := w.view.HasPrevious(obj.GetManagedFields())
	obj = w.view.Own(obj)
	observed := a.Object != nil && a.Object.Settings.IsObserved()
	if observed {
		obj = inspect.WithSettings(obj, a.Object.Body, w.view.Reconciler)
	}
	// The object is observed as a whole even if the pass ends, because the watch stores the facts.
	whole := context.WithoutCancel(ctx)
	o := w.view.Object(whole, obj)
	o.PreviousFieldOwner = previous
	o.Exports = w.view.Exports(whole, obj)
	if o.Copied = inspect.IsCopy(a.Key, obj, w.reconciler); o.Copied || o.Owner == "" {
		o.Mark = inspect.ToolMarkOf(a.Key, obj, w.reconciler)
	}
	if a.Object != nil && !observed {
		o = inspect.Compare(o, obj, *a.Object, a.Policy, w.reconciler)
		o.MatchResult = w.view.MatchResult(obj, *a.Object)
	}
	if a.FindConflictingManagers {
		if o.Response == nil {
			o.Response = &plan.Response{}
		}
		o.Response.ConflictingManagers = inspect.ConflictingManagers(obj, *a.Object, a.Policy, w.reconciler)
	}
	return &o
}

// read reads the object of an action. If the type of the object is not served, read looks for a definition of the type,
// because the object does not exist if its type is not defined any more.
func (w *writer) read(ctx context.Context, a plan.Action) (*plan.Observed, error) {
	obj, err := w.clients.get(ctx, a)
	switch {
	case apierror.IsNotServed(err):
		return w.clients.confirmUndefined(ctx, a, err)
	case apierror.IsNotFound(err):
		return confirmedAbsent(a), nil
	case err != nil:
		return nil, err
	}
	return w.observe(ctx, obj, a), nil
}

// create creates an object and never adopts an existing object. create sends a POST, or a server-side apply with a
// resource version that no object has; both fail if the object exists. The update policies with server-side apply do
// not use POST, because the fields would be listed under the operation Update, and would stay when a later manifest
// drops them.
func (w *writer) create(ctx context.Context, a plan.Action) (*plan.Observed, error) {
	resource, err := w.clients.resource(a)
	if err != nil {
		return nil, err
	}
	var obj *unstructured.Unstructured
	if a.Policy == metav1alpha1.UpdateReplace {
		obj, err = resource.Create(ctx, a.Object.Body, metav1.CreateOptions{FieldManager: w.view.FieldManager()})
	} else {
		obj, err = w.patch(ctx, resource, a, map[string]any{"resourceVersion": "1"})
	}
	if err != nil {
		return nil, err
	}
	return w.observe(ctx, obj, a), nil
}

// createNamespace creates a namespace. If the namespace belongs to the component, the same request sets the owner label
// and the annotations of a dependent, so that the label proves who created it. Otherwise the namespace gets none of
// them.
func (w *writer) createNamespace(ctx context.Context, a plan.Action) (*plan.Observed, error) {
	resource, err := w.clients.resource(a)
	if err != nil {
		return nil, err
	}
	body := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": a.Key.Kind, "metadata": map[string]any{"name": a.Key.Name},
	}}
	if a.OwnerName != "" {
		prefix := w.reconciler + "/"
		body.SetLabels(map[string]string{prefix + manifests.LabelOwnerID: a.Owner})
		body.SetAnnotations(map[string]string{
			prefix + manifests.AnnotationOwnerID:      a.OwnerName,
			prefix + marks.AnnotationObject:           a.Key.String(),
			prefix + manifests.AnnotationDeletePolicy: string(metav1alpha1.DeleteIfEmpty),
		})
	}
	obj, err := resource.Create(ctx, body, metav1.CreateOptions{FieldManager: w.view.FieldManager()})
	if err != nil {
		return nil, err
	}
	return w.observe(ctx, obj, a), nil
}

// apply updates an object by server-side apply. The UID in the body is a precondition. The resource version is a
// precondition only if the action has exact preconditions, which is the case for an object without an owner that
// another client may adopt. In other cases this precondition would cause a conflict after each write of the status. If
// another owner takes the object over at the same moment, that owner gets a watch event about the changed label. An
// object with ignored fields is read first, because its live values and managers decide about the fields that are sent.
func (w *writer) apply(ctx context.Context, a plan.Action) (*plan.Observed, error) {
	resource, err := w.clients.resource(a)
	if err != nil {
		return nil, err
	}
	version := a.Preconditions.ResourceVersion
	if a.Migrate {
		if version, err = w.rewriteManagedFields(ctx, resource, a, handOverFields(a, w.reconciler)); err != nil {
			return nil, err
		}
	}
	if len(a.Object.Settings.Ignored()) > 0 {
		return w.applyIgnoring(ctx, resource, a, version)
	}
	return w.applyVersion(ctx, resource, a, version)
}

// applyVersion updates an object by server-side apply. version is the resource version of the object, which is a
// precondition if the action has exact preconditions.
func (w *writer) applyVersion(
	ctx context.Context, resource dynamic.ResourceInterface, a plan.Action, version string,
) (*plan.Observed, error) {
	preconditions := map[string]any{"uid": string(a.Preconditions.UID)}
	send := func() (*unstructured.Unstructured, error) {
		if a.Preconditions.Exact {
			preconditions["resourceVersion"] = version
		}
		return w.patch(ctx, resource, a, preconditions)
	}
	obj, err := send()
	if apitext.OtherVersion(err) {
		convert := convertVersions(a.Object.Body.GetAPIVersion())
		if version, err = w.rewriteManagedFields(ctx, resource, a, convert); err != nil {
			return nil, err
		}
		obj, err = send()
	}
	switch emptied := apitext.NullFields(err); {
	case len(emptied) > 0:
		obj, err = w.applyWithout(ctx, resource, a, preconditions, emptied, err)
	case mayExclude(a, err):
		obj, err = w.applyExcluding(ctx, resource, a, err, func(after string) (*unstructured.Unstructured, error) {
			version = after
			return send()
		})
	case err != nil:
	case !w.dryRun && isNullInstead(a.Object.Body.Object, obj.Object),
		!w.dryRun && !builtintypes.IsBuiltIn(a.Key.Group) && lacksEmptyList(a.Object.Body.Object, obj.Object),
		(a.Migrate || a.Reason.Adopts()) && lacksEmpty(a.Object.Body.Object, obj.Object):
		obj, err = w.applyAgain(ctx, resource, a, preconditions)
	}
	if err != nil {
		return nil, err
	}
	return w.observe(ctx, obj, a), nil
}

// patch sends the manifest, with additional metadata, as an apply configuration. If the API server refuses fields
// because they are null in the manifest, patch sends it without them, as a create by POST would drop them.
func (w *writer) patch(
	ctx context.Context, resource dynamic.ResourceInterface, a plan.Action, extra map[string]any, dryRun ...string,
) (*unstructured.Unstructured, error) {
	send := func(body map[string]any) (*unstructured.Unstructured, error) {
		data, err := applyConfiguration(body, extra)
		if err != nil {
			return nil, err
		}
		return resource.Patch(ctx, a.Key.Name, types.ApplyPatchType, data, metav1.PatchOptions{
			FieldManager: w.view.FieldManager(), Force: new(true), DryRun: dryRun, FieldValidation: validation(a.Object.Body),
		})
	}
	body := sent(a)
	obj, err := send(body)
	if nulls := apitext.NullFields(err); len(nulls) > 0 {
		if rest, removed := withoutNulls(body, nulls); removed {
			return send(rest)
		}
	}
	return obj, err
}

// applyConfiguration encodes a manifest with additional metadata. Other code uses the manifest, too, so
// applyConfiguration copies its outer maps and does not modify it.
func applyConfiguration(body, extra map[string]any) ([]byte, error) {
	metadata := map[string]any{}
	if m, ok := body["metadata"].(map[string]any); ok {
		maps.Copy(metadata, m)
	}
	maps.Copy(metadata, extra)
	top := maps.Clone(body)
	top["metadata"] = metadata
	return json.Marshal(top)
}

// delete deletes an object, with the observed UID and resource version as preconditions. If the response contains the
// object with a deletion timestamp, the object is terminating: it still has finalizers or pods, or its grace period
// runs. In all other cases the object no longer exists, even if the response contains it, as for some types.
func (w *writer) delete(ctx context.Context, a plan.Action) (*plan.Observed, error) {
	obj, err := w.clients.delete(ctx, a, deleteOptions(a))
	if err != nil && !apierror.IsNotFound(err) {
		return nil, err
	}
	if obj == nil || obj.GetDeletionTimestamp() == nil || isRemoved(obj) {
		return confirmedAbsent(a), nil
	}
	return w.observe(ctx, obj, a), nil
}

// deleteOptions returns the preconditions and the propagation policy of a deletion.
func deleteOptions(a plan.Action) metav1.DeleteOptions {
	return metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{
			UID: &a.Preconditions.UID, ResourceVersion: &a.Preconditions.ResourceVersion,
		},
		PropagationPolicy: new(propagation(a.Key.GroupKind())),
	}
}

// isRemoved reports whether the API server removed the Pod in the response to a delete: the Pod has no finalizers, and
// its grace period is zero. This holds for a Pod that completed, or that has no node. The resource version in the
// response is that of the removal, so no later watch event would show that the Pod was deleted.
func isRemoved(obj *unstructured.Unstructured) bool {
	grace := obj.GetDeletionGracePeriodSeconds()
	return obj.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "Pod"} && grace != nil && *grace == 0 &&
		len(obj.GetFinalizers()) == 0
}

// propagation returns the propagation policy of a deletion. A workload is deleted only after its pods. With the default
// policy for Jobs, the pods would not be deleted at all.
func propagation(gk schema.GroupKind) metav1.DeletionPropagation {
	if gk.Group == "apps" || gk.Group == "batch" || gk == (schema.GroupKind{Kind: "ReplicationController"}) {
		return metav1.DeletePropagationForeground
	}
	return metav1.DeletePropagationBackground
}

// confirmedAbsent returns the state of an object that does not exist, as a response of the API server has shown.
func confirmedAbsent(a plan.Action) *plan.Observed {
	return &plan.Observed{Presence: plan.Absent, Confirmed: true, UID: a.Preconditions.UID}
}

// staleConflict returns the conflict error that the API server would return if it checked the preconditions of an
// action.
func staleConflict(a plan.Action) error {
	resource := schema.GroupResource{Group: a.Key.Group, Resource: a.Key.Kind}
	return apierrors.NewConflict(resource, a.Key.Name, errors.New("the object has changed since it was planned"))
}

// sameOwner reports whether an object has no owner, or the owner that the plan was made with.
func sameOwner(found *plan.Observed, a plan.Action) bool {
	return found.Owner == "" || found.Owner == a.Preconditions.Owner
}
