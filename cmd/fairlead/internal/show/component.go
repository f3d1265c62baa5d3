package show

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/progress"
)

// Component contains the fields of a component that commands print, except for the dependents.
type Component struct {
	APIVersion         string      `json:"apiVersion"`
	Kind               string      `json:"kind"`
	Namespace          string      `json:"namespace,omitempty"`
	Name               string      `json:"name"`
	UID                string      `json:"uid"`
	CreationTimestamp  metav1.Time `json:"creationTimestamp"`
	Generation         int64       `json:"generation"`
	ObservedGeneration int64       `json:"observedGeneration"`
	// State is one word, such as Ready or Stalled. It is empty until an operator has reconciled the component.
	State string `json:"state"`
	// Ready is the status of the condition Ready, for ObservedGeneration: True, False or Unknown. Reason and Message
	// are those of the condition.
	Ready      string `json:"ready"`
	Reason     string `json:"reason,omitempty"`
	Message    string `json:"message,omitempty"`
	Revision   int64  `json:"revision"`
	Dependents Counts `json:"dependents"`
	// Operator is set in a list if no operator watches the namespace of the component, or if that is not known.
	Operator *Operator `json:"operator,omitempty"`
}

// Counts has numbers of dependents.
type Counts struct {
	Total int32 `json:"total"`
	Ready int32 `json:"ready"`
	// Summary is the number of ready dependents and of all, such as 3/5.
	Summary string `json:"summary"`
}

// NewComponent returns the fields of a component that commands print.
func NewComponent(obj *unstructured.Unstructured, status metav1alpha1.Status) Component {
	c := Component{
		APIVersion: obj.GetAPIVersion(), Kind: obj.GetKind(),
		Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: string(obj.GetUID()),
		CreationTimestamp: obj.GetCreationTimestamp(),
		Generation:        obj.GetGeneration(), ObservedGeneration: status.ObservedGeneration,
		State: string(status.State), Ready: string(metav1.ConditionUnknown), Revision: status.Revision,
		Dependents: Counts{Total: status.Dependents.Total, Ready: status.Dependents.Ready, Summary: progress.Count(status)},
	}
	if ready := meta.FindStatusCondition(status.Conditions, metav1alpha1.ConditionReady); ready != nil {
		c.Ready, c.Reason, c.Message = string(ready.Status), ready.Reason, ready.Message
	}
	return c
}

// kind returns the kind with its group, such as Component.fairlead.io.
func (c Component) kind() string {
	return withGroup(c.Kind, schema.FromAPIVersionAndKind(c.APIVersion, c.Kind).Group)
}

// isReadyMade reports whether the component is of the ready-made operator.
func (c Component) isReadyMade() bool {
	readyMade := v1alpha1.GroupVersion.WithKind("Component").GroupKind()
	return schema.FromAPIVersionAndKind(c.APIVersion, c.Kind).GroupKind() == readyMade
}

// objectName returns the name of the component in the form of kubectl, such as component.fairlead.io/shop.
func (c Component) objectName() string {
	return ObjectName(schema.FromAPIVersionAndKind(c.APIVersion, c.Kind).Group, c.Kind, c.Name)
}
