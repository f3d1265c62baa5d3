package component

import (
	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// Policies are the defaults of dependents that name none.
type Policies = metav1alpha1.Policies

// defaultPolicies are those that hold where nobody says anything.
var defaultPolicies = Policies{
	Reconcile: metav1alpha1.ReconcileOnObjectChange, Update: metav1alpha1.UpdateReplace, Adoption: metav1alpha1.AdoptIfUnowned,
	Delete: metav1alpha1.DeleteDelete, MissingNamespaces: metav1alpha1.MissingNamespacesCreate,
}
