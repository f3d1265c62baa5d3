package component

import (
	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// Policies are the defaults of dependents that name none.
type Policies = metav1alpha1.Policies

// defaultPolicies are those that hold where nobody says anything.
var defaultPolicies = Policies{
	Reconcile: metav1alpha1.ReconcileOnObjectChange, Update: metav1alpha1.UpdateReplace, Adoption: metav1alpha1.AdoptIfUnowned,
	Delete: metav1alpha1.DeleteDelete, MissingNamespaces: metav1alpha1.MissingNamespacesCreate,
}

// policiesForPlan returns what plans are made with.
func policiesForPlan(p Policies) plan.Policies {
	return plan.Policies{
		Reconcile: p.Reconcile, Update: p.Update, Adoption: p.Adoption, Delete: p.Delete, MissingNamespaces: p.MissingNamespaces,
		Reapply: p.Reapply,
	}
}

// policiesOf returns the policies that a component itself has.
func policiesOf(component Component) Policies {
	if h, ok := component.(PolicyHolder); ok {
		return h.Policies()
	}
	return Policies{}
}
