package component

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// delete takes the dependents of a component away. It needs no rendering, and no inputs: what was recorded is enough.
func (r *Reconciler[T]) delete(ctx context.Context, component T) (Outcome, error) {
	if !controllerutil.ContainsFinalizer(component, r.Finalizer()) && len(r.suspected(client.ObjectKeyFromObject(component)).inventory) == 0 {
		return Outcome{}, nil
	}
	if others := r.foreignFinalizers(component); len(others) > 0 {
		return Outcome{}, &problem{
			reason: metav1alpha1.ReasonForeignFinalizers, state: metav1alpha1.StateDeleting,
			message: fmt.Sprintf("dependents stay until the finalizers of others are gone: %s", strings.Join(others, ", ")),
		}
	}
	target, err := r.target(component)
	if err != nil {
		return Outcome{}, err
	}
	owner, inventory, err := r.recorded(ctx, component, target.engine)
	if err != nil {
		return Outcome{}, err
	}
	return target.engine.Delete(ctx, r.newPass(component, owner, inventory))
}

func (r *Reconciler[T]) foreignFinalizers(component client.Object) []string {
	return slices.DeleteFunc(slices.Clone(component.GetFinalizers()), func(f string) bool { return f == r.Finalizer() })
}

// release lets the component go: its dependents are gone.
func (r *Reconciler[T]) release(ctx context.Context, component T) error {
	if err := r.changeFinalizers(ctx, component, controllerutil.RemoveFinalizer); err != nil {
		return client.IgnoreNotFound(err)
	}
	r.forget(client.ObjectKeyFromObject(component))
	return nil
}
