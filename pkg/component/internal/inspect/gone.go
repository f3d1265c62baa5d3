package inspect

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// hasGoneWhen reports whether an object that is being deleted has the annotation gone-when, readable or not.
func hasGoneWhen(obj metav1.Object, reconciler string) bool {
	_, ok := obj.GetAnnotations()[reconciler+"/"+manifests.AnnotationGoneWhen]
	return ok && obj.GetDeletionTimestamp() != nil
}

// addGone evaluates the condition gone-when of an object that is being deleted. The condition is read from the live
// object, so it holds after a lost inventory, too. An unreadable condition counts as false.
func (v View) addGone(ctx context.Context, obj *unstructured.Unstructured, o *plan.Observed) {
	if !hasGoneWhen(obj, v.Reconciler) {
		return
	}
	o.Gone = plan.GoneUnread
	end, ok := v.Allowance.take(obj, v.Reconciler)
	if !ok {
		return
	}
	defer end()
	condition, err := settingtext.ParseGoneWhen(obj.GetAnnotations()[v.Reconciler+"/"+manifests.AnnotationGoneWhen])
	if err != nil {
		o.Gone = plan.GoneWaits
		o.Readiness.Message = manifests.AnnotationGoneWhen + ": the annotation was edited, and cannot be read"
		return
	}
	switch r := v.byExpression(ctx, obj, manifests.AnnotationGoneWhen, condition); r.State {
	case ready.Ready:
		o.Gone, o.Readiness.Message = plan.GoneHolds, manifests.AnnotationGoneWhen+" is true, so others do not wait for it"
	case ready.Unread:
	case ready.InProgress, ready.Failed, ready.Terminating, ready.Unknown:
		o.Gone, o.Readiness.Message = plan.GoneWaits, r.Message
	}
}
