package component

import (
	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// Policies are the policies of dependents whose manifests set none.
type Policies = metav1alpha1.Policies

// defaultPolicies are used if neither the manifest, the component nor the options set a policy.
var defaultPolicies = Policies{
	Reconcile:         metav1alpha1.ReconcileOnObjectChange,
	Update:            metav1alpha1.UpdateReplace,
	Adoption:          metav1alpha1.AdoptIfUnowned,
	Delete:            metav1alpha1.DeleteDelete,
	MissingNamespaces: metav1alpha1.MissingNamespacesCreate,
}
