package changepreview

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/egress"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/preview"
	"github.com/fairlead-io/fairlead/pkg/component/result"
)

// otherComponent is a component of another operator. Its status is sufficient for the preview of a deletion, because a
// deletion renders nothing.
type otherComponent struct {
	*unstructured.Unstructured
	status metav1alpha1.Status
}

var _ component.Component = (*otherComponent)(nil)

// GetParameters implements component.Component.
func (o *otherComponent) GetParameters() (map[string]any, error) { return nil, nil }

// GetStatus implements component.Component.
func (o *otherComponent) GetStatus() *metav1alpha1.Status { return &o.status }

// DeepCopyObject implements runtime.Object.
func (o *otherComponent) DeepCopyObject() runtime.Object {
	return &otherComponent{Unstructured: o.DeepCopy(), status: *o.status.DeepCopy()}
}

// deletionOfOther returns the effects of the deletion of a component of another operator. It assumes the default
// options of a reconciler.
func deletionOfOther(ctx context.Context, c *cluster.Cluster, target cluster.Target) (Result, error) {
	obj, err := c.Find(ctx, target)
	if err != nil {
		return Result{}, err
	}
	p, other, err := previewOfOther(c, target, obj)
	if err != nil {
		return Result{}, err
	}
	forecast, err := p.Delete(ctx, other)
	result := Result{Target: target, Component: obj, Forecast: forecast, Deletion: true}
	return result, explainRefusal(target, err, false)
}

// previewOfOther returns the preview of the deletion of a component of another operator, and the component for it.
func previewOfOther(
	c *cluster.Cluster, target cluster.Target, obj *unstructured.Unstructured,
) (preview.Preview[*otherComponent], *otherComponent, error) {
	status, err := cluster.Status(target, obj)
	if err != nil {
		return preview.Preview[*otherComponent]{}, nil, err
	}
	if status.TargetCluster != "" {
		return preview.Preview[*otherComponent]{}, nil,
			exit.Refuse("%s has its dependents in another cluster, and only its operator can connect there", target)
	}
	p := preview.Preview[*otherComponent]{
		Config: c.Config(), Scheme: runtime.NewScheme(), Name: status.Reconciler,
		Options: component.Options{Names: component.Names{PreviousFinalizers: status.Finalizers}},
	}
	return p, &otherComponent{Unstructured: obj, status: status}, nil
}

// Blockers returns the types whose instances would block the deletion of a component. It lists only the instances that
// the person has rights to read. If the component is not read because of gate, the error wraps an egress.Refusal.
func Blockers(
	ctx context.Context, gate egress.Gate, target cluster.Target, obj *unstructured.Unstructured,
) ([]result.Blocked, error) {
	if !target.IsReadyMade() {
		p, other, err := previewOfOther(gate.Cluster, target, obj)
		if err != nil {
			return nil, err
		}
		return p.Blockers(ctx, other)
	}
	typed := &v1alpha1.Component{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, typed); err != nil {
		return nil, err
	}
	p, err := open(ctx, gate, typed, egress.Use{Connects: true}, rendered{})
	if err != nil {
		return nil, err
	}
	return p.Blockers(ctx, typed)
}
