package component

import (
	"context"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// UpdateStatus changes what belongs to the author in the status of a component, such as a value that is allocated once: all but the
// embedded Status, of which only conditions of other types than ours are the author's. It may be called from hooks and from anywhere else.
//
// change gets the component as it is known best, and changes its status. The update is bound to the resource version: where somebody
// wrote in between, change is called again, on what the API server has then. So it must decide by what it gets, every time. An error of
// change ends it, and is returned as it is. Where nothing changes, nothing is sent.
//
// Afterwards component has that status too, and so has the next pass, whatever the cache says.
func (r *Reconciler[T]) UpdateStatus(ctx context.Context, component T, change func(T) error) error {
	name := client.ObjectKeyFromObject(component)
	stored, err := r.known(ctx, name)
	for redone := 0; ; redone++ {
		if err != nil {
			return err
		}
		if uid := component.GetUID(); uid != "" && stored.GetUID() != uid {
			return r.conflict(name, "it was created anew")
		}
		err = r.updateStatus(ctx, stored, change)
		if err == nil {
			return adoptStatus(component, stored)
		}
		if !apierrors.IsConflict(err) || redone == maxRedo {
			return err
		}
		stored, err = r.again(ctx, name, redone)
	}
}

// updateStatus makes one attempt.
func (r *Reconciler[T]) updateStatus(ctx context.Context, stored T, change func(T) error) error {
	before, ok := stored.DeepCopyObject().(T)
	if !ok {
		return fmt.Errorf("%T does not copy to its own type", stored)
	}
	if err := change(stored); err != nil {
		return err
	}
	ours := before.GetStatus().DeepCopy()
	ours.Conditions = withForeign(ours.Conditions, stored.GetStatus().Conditions)
	*stored.GetStatus() = *ours
	if equality.Semantic.DeepEqual(before, stored) {
		return nil
	}
	if err := r.client.Status().Update(ctx, stored); err != nil {
		return err
	}
	r.remember(stored)
	return nil
}

// adoptStatus enters the author's status, as it was stored, into the component of a pass, whose own part of the status may be ahead.
func adoptStatus[T Component](component, stored T) error {
	if any(component) == any(stored) {
		return nil
	}
	status := reflect.ValueOf(component).Elem().FieldByName("Status")
	if !status.CanSet() {
		return fmt.Errorf("%T has no field Status", component)
	}
	ours := component.GetStatus().DeepCopy()
	ours.Conditions = withForeign(ours.Conditions, stored.GetStatus().Conditions)
	copied := stored.DeepCopyObject()
	status.Set(reflect.ValueOf(copied).Elem().FieldByName("Status"))
	*component.GetStatus() = *ours
	component.SetResourceVersion(stored.GetResourceVersion())
	return nil
}
