package cli

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
)

// found is a component that exists, and whose reconciler is known.
type found struct {
	cluster    *cluster.Cluster
	target     cluster.Target
	obj        *unstructured.Unstructured
	status     metav1alpha1.Status
	reconciler string
}

// find finds the component that a person named, to tell its operator something.
func (a *app) find(ctx context.Context, name string) (found, error) {
	c, target, err := a.connect(name)
	if err != nil {
		return found{}, err
	}
	f := found{cluster: c, target: target}
	if f.obj, err = c.Find(ctx, target); err != nil {
		return found{}, err
	}
	if f.status, err = cluster.StatusIfAny(target, f.obj); err != nil {
		return found{}, err
	}
	f.reconciler, err = cluster.Reconciler(target, f.status)
	return f, err
}

// annotation returns the key of an annotation that the component's operator heeds.
func (f found) annotation(name string) string { return f.reconciler + "/" + name }

// suspended says that the spec, or the operator, says so.
func (f found) suspended() bool {
	suspend, _, _ := unstructured.NestedBool(f.obj.Object, "spec", "suspend")
	return suspend || f.status.State == metav1alpha1.StateSuspended && f.status.ObservedGeneration >= f.obj.GetGeneration()
}
