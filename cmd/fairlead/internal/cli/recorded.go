package cli

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/pkg/component"
)

// recordedComponent is a component of which only the status is known: enough for its deletion, which renders nothing.
type recordedComponent struct {
	*unstructured.Unstructured
	status metav1alpha1.Status
}

var _ component.Component = (*recordedComponent)(nil)

// GetParameters implements component.Component.
func (r *recordedComponent) GetParameters() (map[string]any, error) { return nil, nil }

// GetStatus implements component.Component.
func (r *recordedComponent) GetStatus() *metav1alpha1.Status { return &r.status }

// DeepCopyObject implements runtime.Object.
func (r *recordedComponent) DeepCopyObject() runtime.Object {
	return &recordedComponent{Unstructured: r.DeepCopy(), status: *r.status.DeepCopy()}
}

// foreseeDeletion finds out what the deletion of a component of any operator would do, with the options that a reconciler has by default.
func foreseeDeletion(ctx context.Context, c *cluster.Cluster, target cluster.Target) (foreseen, error) {
	obj, err := c.Find(ctx, target)
	if err != nil {
		return foreseen{}, err
	}
	status, err := cluster.Status(target, obj)
	if err != nil {
		return foreseen{}, err
	}
	if status.TargetCluster != "" {
		return foreseen{}, exit.Refuse("%s: its dependents are in another cluster, and only its operator knows how to get there", target)
	}
	preview := component.Preview[*recordedComponent]{Config: c.Config(), Scheme: runtime.NewScheme(), Name: status.Reconciler}
	forecast, err := preview.Delete(ctx, &recordedComponent{Unstructured: obj, status: status})
	return foreseen{target: target, component: obj, forecast: forecast, deletion: true}, explainRefusal(target, err, false)
}
