package plan

import (
	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Operator is who the operator of a component is in the cluster of the component. An empty field is not known.
type Operator struct {
	// User is the user as whom the operator acts. Namespace is the namespace of its pod, and Deployment the Deployment
	// that the pod belongs to.
	User, Namespace, Deployment string
}

// needs returns the objects that the operator runs on, so that no component of its own can delete them: nobody would
// complete the deletion.
func (o Operator) needs() Needs {
	needs := Needs{}
	if in, account, ok := ServiceAccountOf(o.User); ok {
		needs[manifests.Key{Kind: "ServiceAccount", Namespace: in, Name: account}] = metav1alpha1.DeleteOrphan
	}
	if o.Namespace != "" {
		needs[manifests.Key{Kind: "Namespace", Name: o.Namespace}] = metav1alpha1.DeleteOrphan
	}
	if o.Deployment != "" {
		key := manifests.Key{Group: "apps", Kind: "Deployment", Namespace: o.Namespace, Name: o.Deployment}
		needs[key] = metav1alpha1.DeleteOrphan
	}
	return needs
}
