package component

import (
	"time"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// Policies are the defaults of dependents that name none. An empty field leaves the choice to the next level: the component's policies
// come before those of the reconciler's Options.
type Policies struct {
	// Reconcile is on-object-change by default.
	Reconcile metav1alpha1.ReconcilePolicy
	// Update is replace by default.
	Update metav1alpha1.UpdatePolicy
	// Adoption is if-unowned by default.
	Adoption metav1alpha1.AdoptionPolicy
	// Delete is delete by default. What a policy would delete it may still keep: see docs/dependents.md on claims and namespaces.
	Delete metav1alpha1.DeletePolicy
	// MissingNamespaces says what happens where the namespace of a dependent does not exist; it is created by default.
	MissingNamespaces metav1alpha1.MissingNamespacesPolicy
	// Reapply is the time after which a dependent is applied again although it looks in sync; zero, the default, turns that off.
	Reapply time.Duration
}

// or returns p with its empty fields taken from fallback.
func (p Policies) or(fallback Policies) Policies {
	fill(&p.Reconcile, fallback.Reconcile)
	if p.Update == metav1alpha1.UpdateDefault {
		p.Update = ""
	}
	fill(&p.Update, fallback.Update)
	fill(&p.Adoption, fallback.Adoption)
	fill(&p.Delete, fallback.Delete)
	fill(&p.MissingNamespaces, fallback.MissingNamespaces)
	fill(&p.Reapply, fallback.Reapply)
	return p
}

func fill[V comparable](value *V, fallback V) {
	var none V
	if *value == none {
		*value = fallback
	}
}

// defaultPolicies are those that hold where nobody says anything.
var defaultPolicies = Policies{
	Reconcile: metav1alpha1.ReconcileOnObjectChange, Update: metav1alpha1.UpdateReplace, Adoption: metav1alpha1.AdoptIfUnowned,
	Delete: metav1alpha1.DeleteDelete, MissingNamespaces: metav1alpha1.MissingNamespacesCreate,
}

// forPlan returns what plans are made with.
func (p Policies) forPlan() plan.Policies {
	return plan.Policies{Reconcile: p.Reconcile, Update: p.Update, Adoption: p.Adoption, Delete: p.Delete, Reapply: p.Reapply}
}
