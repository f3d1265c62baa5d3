package main

import (
	_ "embed" // the custom resource definition

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
)

//go:embed crd.yaml
var crd []byte

// Member is a cluster of the fleet.
type Member struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec   MemberSpec   `json:"spec"`
	Status MemberStatus `json:"status,omitzero"`
}

// MemberSpec names the cluster.
type MemberSpec struct {
	// Kubeconfig is the Secret with the kubeconfig of the cluster, under the key value.
	Kubeconfig string `json:"kubeconfig"`
	// Image is the image of the agent.
	Image string `json:"image,omitempty"`
}

// MemberStatus contains the common status fields, and what is known of the cluster.
type MemberStatus struct {
	metav1alpha1.Status `json:",inline"`
	// Zones are the zones of the nodes.
	Zones string `json:"zones,omitempty"`
}

// MemberList is a list of clusters.
type MemberList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Member `json:"items"`
}

var _ component.Targeter = (*Member)(nil)

// GetParameters returns the parameters of the generator.
func (m *Member) GetParameters() (map[string]any, error) {
	return runtime.DefaultUnstructuredConverter.ToUnstructured(&m.Spec)
}

// GetStatus returns the status.
func (m *Member) GetStatus() *metav1alpha1.Status { return &m.Status.Status }

// KubeConfig names the cluster of the dependents.
func (m *Member) KubeConfig() *metav1alpha1.KubeConfigReference {
	return &metav1alpha1.KubeConfigReference{Name: m.Spec.Kubeconfig}
}

// Placement puts the dependents into the namespace of the agents. Several members may be in one cluster.
func (m *Member) Placement() (namespace, name string) { return agentNamespace, "agent-" + m.Name }

// DeepCopyObject implements runtime.Object.
func (m *Member) DeepCopyObject() runtime.Object {
	out := &Member{TypeMeta: m.TypeMeta, Spec: m.Spec}
	m.DeepCopyInto(&out.ObjectMeta)
	m.Status.DeepCopyInto(&out.Status.Status)
	out.Status.Zones = m.Status.Zones
	return out
}

// DeepCopyObject implements runtime.Object.
func (l *MemberList) DeepCopyObject() runtime.Object {
	out := &MemberList{TypeMeta: l.TypeMeta}
	l.DeepCopyInto(&out.ListMeta)
	for i := range l.Items {
		if member, ok := l.Items[i].DeepCopyObject().(*Member); ok {
			out.Items = append(out.Items, *member)
		}
	}
	return out
}

func addToScheme(s *runtime.Scheme) {
	version := schema.GroupVersion{Group: "example.fairlead.io", Version: "v1"}
	s.AddKnownTypes(version, &Member{}, &MemberList{})
	metav1.AddToGroupVersion(s, version)
}
