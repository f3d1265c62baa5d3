package inspect

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/builtintypes"
	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
)

// Object returns the facts about a whole object.
func (v View) Object(ctx context.Context, obj *unstructured.Unstructured) plan.Observed {
	o := v.Metadata(obj)
	obj = v.Own(obj)
	o.Readiness = v.Readiness(ctx, obj)
	v.addGone(ctx, obj, &o)
	o.Finished = builtintypes.IsEphemeral(obj) && hasSucceeded(obj)
	o.Retained = retained(obj, v.Reconciler)
	o.Unserved = Unserved(obj)
	return o
}

// hasSucceeded reports whether a Job completed successfully.
func hasSucceeded(job *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(job.Object, "status", "conditions")
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok && m["type"] == "Complete" && m["status"] == "True" {
			return true
		}
	}
	return false
}

// Metadata is the function Metadata for the reconciler of the view, whose field owner may have another name.
func (v View) Metadata(obj metav1.Object) plan.Observed {
	o := Metadata(v.ownMetadata(obj), v.Reconciler)
	o.PreviousFieldOwner = v.HasPrevious(obj.GetManagedFields())
	return o
}

// Metadata returns the facts about an object that can be read from its metadata. For types without a status, Object
// adds no further facts, unless the object has a condition: its state is then Unread.
func Metadata(obj metav1.Object, reconciler string) plan.Observed {
	annotations := obj.GetAnnotations()
	o := plan.Observed{
		Presence:        plan.Present,
		UID:             obj.GetUID(),
		ResourceVersion: obj.GetResourceVersion(),
		Generation:      obj.GetGeneration(),
		Digest:          annotations[reconciler+"/"+marks.AnnotationDigest],
		Terminating:     obj.GetDeletionTimestamp() != nil,
		Readiness:       ready.Result{State: ready.Ready},
	}
	switch {
	case o.Terminating:
		o.Readiness = ready.BeingDeleted(obj)
		if hasGoneWhen(obj, reconciler) {
			o.Gone = plan.GoneUnread
		}
	case hasCondition(obj, reconciler):
		o.Readiness = ready.Result{State: ready.Unread, Message: "its content is not read yet"}
	}
	o.Owner, o.OwnerName = ownerOf(obj, reconciler)
	for _, entry := range obj.GetManagedFields() {
		if entry.Subresource != "" {
			continue
		}
		if entry.Manager != reconciler {
			o.Managers = addName(o.Managers, entry.Manager)
			continue
		}
		switch entry.Operation {
		case metav1.ManagedFieldsOperationApply:
			o.Applied = hashEntry(entry, annotations, reconciler)
		case metav1.ManagedFieldsOperationUpdate:
			o.Updated = hashEntry(entry, annotations, reconciler)
		}
	}
	// The API server lists the annotation released-by under our name.
	if o.Owner == "" && (isHeld(obj, reconciler) || marks.ReleasedBy(annotations, reconciler) != "") {
		o.Applied, o.Updated = "", ""
	}
	return o
}
