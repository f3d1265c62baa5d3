package execute

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/apitext"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// create never adopts: a POST, or a server-side apply that is bound to a resource version which no object has, so that it is refused
// where the object exists. The policies of server-side apply do not create by POST, because the fields would be listed under the
// operation Update, and stay ours when a later manifest drops them.
func (e *Executor) create(ctx context.Context, a plan.Action) (*plan.Observed, error) {
	resource, err := e.resource(a)
	if err != nil {
		return nil, err
	}
	var obj *unstructured.Unstructured
	if a.Policy == metav1alpha1.UpdateReplace {
		obj, err = resource.Create(ctx, a.Object.Body, metav1.CreateOptions{FieldManager: e.reconciler})
	} else {
		obj, err = e.patch(ctx, resource, a, map[string]any{"resourceVersion": "1"})
	}
	if err != nil {
		return nil, err
	}
	return e.observe(obj, a), nil
}

// apply updates by server-side apply. The UID in the body is a precondition; so is the resource version of an object that nobody owned
// when it was observed: somebody else may be about to adopt it, too. In all other cases a resource version would cost a conflict whenever
// somebody writes the status; who takes over an object of ours at that very moment finds his label changed, and his watch tells him.
func (e *Executor) apply(ctx context.Context, a plan.Action) (*plan.Observed, error) {
	resource, err := e.resource(a)
	if err != nil {
		return nil, err
	}
	preconditions := map[string]any{"uid": string(a.Preconditions.UID)}
	version := a.Preconditions.ResourceVersion
	if a.Migrate {
		if version, err = e.migrate(ctx, resource, a, e.handOver(a)); err != nil {
			return nil, err
		}
	}
	send := func() (*unstructured.Unstructured, error) {
		if a.Preconditions.Exact {
			preconditions["resourceVersion"] = version
		}
		return e.patch(ctx, resource, a, preconditions)
	}
	obj, err := send()
	if apitext.OtherVersion(err) {
		if version, err = e.migrate(ctx, resource, a, convert(a.Object.Body.GetAPIVersion())); err != nil {
			return nil, err
		}
		obj, err = send()
	}
	if err != nil {
		return nil, err
	}
	return e.observe(obj, a), nil
}

// patch sends the manifest, with some metadata added, as an apply configuration.
func (e *Executor) patch(
	ctx context.Context, resource dynamic.ResourceInterface, a plan.Action, extra map[string]any, dryRun ...string,
) (*unstructured.Unstructured, error) {
	data, err := applyConfiguration(a.Object.Body.Object, extra)
	if err != nil {
		return nil, err
	}
	return resource.Patch(ctx, a.Key.Name, types.ApplyPatchType, data, metav1.PatchOptions{
		FieldManager: e.reconciler, Force: new(true), DryRun: dryRun, FieldValidation: validation(a.Object.Body),
	})
}

// applyConfiguration encodes a manifest with some metadata added. The manifest is shared: only its outer maps are copied.
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

// replace reads the object, merges the manifest into it, and updates it with the resource version that was read. Where the object has
// all the values of the manifest already, and our fields are recorded, nothing is written.
func (e *Executor) replace(ctx context.Context, a plan.Action) (*plan.Observed, error) {
	resource, err := e.resource(a)
	if err != nil {
		return nil, err
	}
	live, err := resource.Get(ctx, a.Key.Name, metav1.GetOptions{})
	if isNotFound(err) {
		return nil, overtaken(a)
	}
	if err != nil {
		return nil, err
	}
	found := e.observe(live, a)
	if found.UID != a.Preconditions.UID || !inSameHands(found, a) {
		return nil, overtaken(a)
	}
	merged, changed := merge(live, a.Object.Body.Object, e.dropped(live, found, a))
	if !changed && found.Coverage == plan.CoverageFull && !a.Forced {
		return found, nil
	}
	updated := &unstructured.Unstructured{Object: merged}
	if entries := e.restored(ctx, resource, live, a); entries != nil {
		updated.SetManagedFields(entries)
	}
	if err := claim(updated, a, e.reconciler); err != nil {
		return nil, err
	}
	obj, err := resource.Update(ctx, updated, metav1.UpdateOptions{FieldManager: e.reconciler})
	if err != nil {
		return nil, err
	}
	return e.observe(obj, a), nil
}

// dropped returns those of our fields in a live object among which are the ones that the manifest has dropped. Where the object was written
// from the same content, these can only be settings. Other fields of ours that the manifest does not name are ours because the API server
// gave them defaults, or admission a value, when we created the object: a repair must not reset them.
func (e *Executor) dropped(live *unstructured.Unstructured, found *plan.Observed, a plan.Action) map[string]any {
	owned := inspect.Shape(slices.DeleteFunc(live.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager != e.reconciler || entry.Subresource != ""
	}))
	if manifests.SameContent(found.Digest, a.Object.Digest) {
		return e.settingsAmong(owned)
	}
	return owned
}

// settingsAmong returns the annotations among fields that are settings.
func (e *Executor) settingsAmong(fields map[string]any) map[string]any {
	settings := maps.Clone(fieldsBelow(fieldsBelow(fields["f:metadata"])["f:annotations"]))
	maps.DeleteFunc(settings, func(field string, _ any) bool {
		return !manifests.IsMark(e.reconciler, strings.TrimPrefix(field, "f:"))
	})
	return map[string]any{"f:metadata": map[string]any{"f:annotations": settings}}
}

// get reads an object. Whether one is gone that is to go is asked as the identity that watches, where it may: a component whose identity
// has lost its rights, as it does when its namespace is deleted, need not wait for what is not there any more; nor need what a phase of its deletion
// applies.
func (e *Executor) get(ctx context.Context, a plan.Action) (*unstructured.Unstructured, error) {
	obj, err := e.getAsMay(ctx, a)
	if apierrors.IsForbidden(err) && (a.Object == nil || isOfPhase(a)) && e.goesUnseen(ctx, a.Key.Namespace) {
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: a.Key.Group, Resource: a.Key.Kind}, a.Key.Name)
	}
	return obj, err
}

// getAsMay reads an object as the component's identity, or, where it is to go, as whoever may.
func (e *Executor) getAsMay(ctx context.Context, a plan.Action) (*unstructured.Unstructured, error) {
	if a.Object != nil {
		return e.getBy(ctx, a, e.dynamic)
	}
	obj, err := e.getBy(ctx, a, e.seeing)
	if other := e.otherReader(); apierrors.IsForbidden(err) && other != e.seeing {
		return e.getBy(ctx, a, other)
	}
	return obj, err
}

// otherReader is who may read what the one that is asked first may not.
func (e *Executor) otherReader() dynamic.Interface {
	if e.dynamic != e.seeing {
		return e.dynamic
	}
	return e.watching
}

func (e *Executor) getBy(ctx context.Context, a plan.Action, reader dynamic.Interface) (*unstructured.Unstructured, error) {
	resource, err := e.resourceBy(a, reader)
	if err != nil {
		return nil, err
	}
	return resource.Get(ctx, a.Key.Name, metav1.GetOptions{})
}

// overtaken is the answer that the API server would give if it knew of our preconditions.
func overtaken(a plan.Action) error {
	resource := schema.GroupResource{Group: a.Key.Group, Resource: a.Key.Kind}
	return apierrors.NewConflict(resource, a.Key.Name, errors.New("it is not the object that the plan was made with"))
}

// inSameHands says that the owner of an object is still the one that the plan was made with.
func inSameHands(found *plan.Observed, a plan.Action) bool {
	return found.Owner == "" || found.Owner == a.Preconditions.Owner
}

// read asks for the object itself. Where its type is not served, it asks what defines the type.
func (e *Executor) read(ctx context.Context, a plan.Action) (*plan.Observed, error) {
	obj, err := e.get(ctx, a)
	switch {
	case isNotServed(err):
		return e.unserved(ctx, a, err)
	case isNotFound(err):
		return &plan.Observed{Presence: plan.Absent, Confirmed: true, UID: a.Preconditions.UID}, nil
	case err != nil:
		return nil, err
	}
	return e.observe(obj, a), nil
}
