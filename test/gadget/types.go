package gadget

import (
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// GroupVersion is the group and version of Gadget.
var GroupVersion = schema.GroupVersion{Group: "gadgets.example.com", Version: "v1"}

// Gadget is a component whose spec contains its manifests.
type Gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec   GadgetSpec   `json:"spec"`
	Status GadgetStatus `json:"status,omitzero"`
}

// GadgetStatus contains the common status fields and the additional field Port.
type GadgetStatus struct {
	metav1alpha1.Status `json:",inline"`
	// Port is an example of a value that an operator allocates once.
	Port int `json:"port,omitempty"`
}

// GadgetSpec contains the manifests and the settings of a component.
type GadgetSpec struct {
	// Manifests is a stream of YAML documents.
	Manifests string `json:"manifests,omitempty"`
	// Parameters are further parameters, which conditions of dependents read.
	Parameters map[string]string `json:"parameters,omitempty"`
	// TargetNamespace is the namespace of the dependents; the gadget's namespace by default.
	TargetNamespace string `json:"targetNamespace,omitempty"`
	// ManagedTypes are additional managed types.
	ManagedTypes []metav1alpha1.TypePattern `json:"managedTypes,omitempty"`
	// References are the Secrets and ConfigMaps that are read before rendering.
	References []metav1alpha1.Reference `json:"references,omitempty"`
	// Exports are the exports of dependents that are published in the status.
	Exports []string `json:"exports,omitempty"`
	// DependsOn are the gadgets that this one needs, and AllowDependents the namespaces whose gadgets may need this one.
	DependsOn       []metav1alpha1.Dependency `json:"dependsOn,omitempty"`
	AllowDependents []metav1alpha1.Consent    `json:"allowDependents,omitempty"`
	// Policies are the default policies of dependents.
	Policies metav1alpha1.Policies `json:"policies,omitzero"`
	// Ignore are the rules of ignored fields.
	Ignore []metav1alpha1.IgnoreRule `json:"ignore,omitempty"`
	// Adopt are the existing objects that may be taken over.
	Adopt []metav1alpha1.AdoptRule `json:"adopt,omitzero"`
	// AllowEmpty permits a rendering without objects although dependents exist.
	AllowEmpty bool `json:"allowEmpty,omitempty"`
	// ServiceAccountName, User and Groups are the identity that applies the manifests. KubeConfig selects the target
	// cluster.
	ServiceAccountName string                            `json:"serviceAccountName,omitempty"`
	User               string                            `json:"user,omitempty"`
	Groups             []string                          `json:"groups,omitempty"`
	KubeConfig         *metav1alpha1.KubeConfigReference `json:"kubeConfig,omitempty"`
	// Suspend, Interval, RetryInterval and Timeout have the same meaning as in other components.
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

// GetParameters returns the parameters of the generator.
func (g *Gadget) GetParameters() (map[string]any, error) {
	parameters := map[string]any{"manifests": g.Spec.Manifests}
	for name, value := range g.Spec.Parameters {
		parameters[name] = value
	}
	return parameters, nil
}

// Refused is the parameter whose text Validate returns as an error.
const Refused = "refused"

// Validate returns an error if the parameter Refused is set.
func (g *Gadget) Validate() error {
	if text := g.Spec.Parameters[Refused]; text != "" {
		return errors.New(text)
	}
	return nil
}

// GetStatus returns the status.
func (g *Gadget) GetStatus() *metav1alpha1.Status { return &g.Status.Status }

// Placement returns the namespace and name for the dependents.
func (g *Gadget) Placement() (namespace, name string) {
	if g.Spec.TargetNamespace != "" {
		return g.Spec.TargetNamespace, g.Name
	}
	return g.Namespace, g.Name
}

// References returns the references that are read before rendering.
func (g *Gadget) References() []metav1alpha1.Reference { return g.Spec.References }

// Exports returns the exports of dependents that are published in the status.
func (g *Gadget) Exports() []string { return g.Spec.Exports }

// Dependencies returns the gadgets that this one needs.
func (g *Gadget) Dependencies() []metav1alpha1.Dependency { return g.Spec.DependsOn }

// Consents returns the other namespaces whose gadgets may need this one.
func (g *Gadget) Consents() []metav1alpha1.Consent { return g.Spec.AllowDependents }

// Policies returns the default policies of dependents.
func (g *Gadget) Policies() metav1alpha1.Policies { return g.Spec.Policies }

// IgnoreRules returns the rules of ignored fields.
func (g *Gadget) IgnoreRules() []metav1alpha1.IgnoreRule { return g.Spec.Ignore }

// AdoptRules returns the existing objects that may be taken over.
func (g *Gadget) AdoptRules() []metav1alpha1.AdoptRule { return g.Spec.Adopt }

// AllowEmpty reports whether a rendering without objects is permitted.
func (g *Gadget) AllowEmpty() bool { return g.Spec.AllowEmpty }

// ServiceAccountName returns the service account that applies the manifests.
func (g *Gadget) ServiceAccountName() string { return g.Spec.ServiceAccountName }

// Impersonation returns the user that applies the manifests.
func (g *Gadget) Impersonation() (user string, groups []string) { return g.Spec.User, g.Spec.Groups }

// KubeConfig returns the reference to the kubeconfig of the target cluster.
func (g *Gadget) KubeConfig() *metav1alpha1.KubeConfigReference { return g.Spec.KubeConfig }

// AdditionalManagedTypes returns managed types that no manifest defines.
func (g *Gadget) AdditionalManagedTypes() []metav1alpha1.TypePattern { return g.Spec.ManagedTypes }

// Suspended reports whether reconciling is suspended.
func (g *Gadget) Suspended() bool { return g.Spec.Suspend }

// ResyncInterval returns the resync interval; ten hours by default.
func (g *Gadget) ResyncInterval() time.Duration {
	if g.Spec.Interval != nil {
		return g.Spec.Interval.Duration
	}
	return 10 * time.Hour
}

// RetryInterval returns the retry interval; a minute by default.
func (g *Gadget) RetryInterval() time.Duration {
	if g.Spec.RetryInterval != nil {
		return g.Spec.RetryInterval.Duration
	}
	return time.Minute
}

// Timeout returns the timeout; ten minutes by default.
func (g *Gadget) Timeout() time.Duration {
	if g.Spec.Timeout != nil {
		return g.Spec.Timeout.Duration
	}
	return 10 * time.Minute
}

// RenderInputs returns the part of the spec that influences the rendering.
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
