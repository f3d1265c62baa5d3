package gadget

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// GroupVersion is the group and version of Gadget.
var GroupVersion = schema.GroupVersion{Group: "gadgets.example.com", Version: "v1"}

// Gadget is a component whose spec holds its manifests.
type Gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec   GadgetSpec   `json:"spec"`
	Status GadgetStatus `json:"status,omitzero"`
}

// GadgetStatus has a field of its own beside what the reconciler maintains.
type GadgetStatus struct {
	metav1alpha1.Status `json:",inline"`
	// Port is allocated once.
	Port int `json:"port,omitempty"`
}

// GadgetSpec holds manifests.
type GadgetSpec struct {
	// Manifests is a stream of YAML documents.
	Manifests string `json:"manifests,omitempty"`
	// TargetNamespace is where they go; the gadget's namespace by default.
	TargetNamespace string `json:"targetNamespace,omitempty"`
	// ManagedTypes are additional managed types.
	ManagedTypes []metav1alpha1.TypePattern `json:"managedTypes,omitempty"`
	// References are read before rendering.
	References []metav1alpha1.Reference `json:"references,omitempty"`
	// Policies are those of dependents that name none.
	Policies metav1alpha1.Policies `json:"policies,omitzero"`
	// AllowEmpty accepts that nothing is rendered although there are dependents.
	AllowEmpty bool `json:"allowEmpty,omitempty"`
	// ServiceAccountName, User and Groups, and KubeConfig say as whom, and where, the manifests are applied.
	ServiceAccountName string                            `json:"serviceAccountName,omitempty"`
	User               string                            `json:"user,omitempty"`
	Groups             []string                          `json:"groups,omitempty"`
	KubeConfig         *metav1alpha1.KubeConfigReference `json:"kubeConfig,omitempty"`
	// Suspend, Interval, RetryInterval and Timeout are what they are in other components.
	Suspend       bool             `json:"suspend,omitempty"`
	Interval      *metav1.Duration `json:"interval,omitempty"`
	RetryInterval *metav1.Duration `json:"retryInterval,omitempty"`
	Timeout       *metav1.Duration `json:"timeout,omitempty"`
}

// GadgetList is a list of gadgets.
type GadgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Gadget `json:"items"`
}

// AddToScheme registers Gadget.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &Gadget{}, &GadgetList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

// GetParameters returns what the generator needs of the spec.
func (g *Gadget) GetParameters() (map[string]any, error) {
	return map[string]any{"manifests": g.Spec.Manifests}, nil
}

// GetStatus returns the status.
func (g *Gadget) GetStatus() *metav1alpha1.Status { return &g.Status.Status }

// Placement returns where the manifests go.
func (g *Gadget) Placement() (namespace, name string) {
	if g.Spec.TargetNamespace != "" {
		return g.Spec.TargetNamespace, g.Name
	}
	return g.Namespace, g.Name
}

// References returns what is read before rendering.
func (g *Gadget) References() []metav1alpha1.Reference { return g.Spec.References }

// Policies returns those of dependents that name none.
func (g *Gadget) Policies() metav1alpha1.Policies { return g.Spec.Policies }

// AllowEmpty says whether nothing may be rendered although there are dependents.
func (g *Gadget) AllowEmpty() bool { return g.Spec.AllowEmpty }

// ServiceAccountName returns the service account that applies the manifests.
func (g *Gadget) ServiceAccountName() string { return g.Spec.ServiceAccountName }

// Impersonation returns the user that applies the manifests.
func (g *Gadget) Impersonation() (user string, groups []string) { return g.Spec.User, g.Spec.Groups }

// KubeConfig returns where the manifests are applied.
func (g *Gadget) KubeConfig() *metav1alpha1.KubeConfigReference { return g.Spec.KubeConfig }

// AdditionalManagedTypes returns types that no manifest defines.
func (g *Gadget) AdditionalManagedTypes() []metav1alpha1.TypePattern { return g.Spec.ManagedTypes }

// Suspended says whether reconciling is suspended.
func (g *Gadget) Suspended() bool { return g.Spec.Suspend }

// ResyncInterval is ten hours by default.
func (g *Gadget) ResyncInterval() time.Duration {
	if g.Spec.Interval != nil {
		return g.Spec.Interval.Duration
	}
	return 10 * time.Hour
}

// RetryInterval is a minute by default.
func (g *Gadget) RetryInterval() time.Duration {
	if g.Spec.RetryInterval != nil {
		return g.Spec.RetryInterval.Duration
	}
	return time.Minute
}

// Timeout is ten minutes by default.
func (g *Gadget) Timeout() time.Duration {
	if g.Spec.Timeout != nil {
		return g.Spec.Timeout.Duration
	}
	return 10 * time.Minute
}

// RenderInputs leaves out of the spec what has no influence on the rendering.
func (g *Gadget) RenderInputs() any {
	return map[string]any{"manifests": g.Spec.Manifests}
}

// DeepCopyObject implements runtime.Object.
func (g *Gadget) DeepCopyObject() runtime.Object {
	out := &Gadget{TypeMeta: g.TypeMeta, Spec: g.Spec}
	g.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Groups = append([]string(nil), g.Spec.Groups...)
	if g.Spec.KubeConfig != nil {
		out.Spec.KubeConfig = new(*g.Spec.KubeConfig)
	}
	out.Spec.ManagedTypes = append([]metav1alpha1.TypePattern(nil), g.Spec.ManagedTypes...)
	g.Status.DeepCopyInto(&out.Status.Status)
	out.Status.Port = g.Status.Port
	out.Spec.References = append([]metav1alpha1.Reference(nil), g.Spec.References...)
	return out
}

// DeepCopyObject implements runtime.Object.
func (l *GadgetList) DeepCopyObject() runtime.Object {
	out := &GadgetList{TypeMeta: l.TypeMeta}
	l.DeepCopyInto(&out.ListMeta)
	for i := range l.Items {
		if g, ok := l.Items[i].DeepCopyObject().(*Gadget); ok {
			out.Items = append(out.Items, *g)
		}
	}
	return out
}
