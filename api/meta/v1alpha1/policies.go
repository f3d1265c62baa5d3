package v1alpha1

import "time"

// Policies are the defaults of dependents that name none. An empty field leaves the choice to the next level: the
// policies of a component come before those of its reconciler.
//
// +kubebuilder:object:generate=false
type Policies struct {
	// Reconcile is on-object-change by default.
	Reconcile ReconcilePolicy
	// Update is replace by default.
	Update UpdatePolicy
	// Adoption is if-unowned by default.
	Adoption AdoptionPolicy
	// Delete is delete by default. Claims and namespaces may stay also under this policy: see
	// docs/dependents/ownership-and-deletion.md.
	Delete DeletePolicy
	// MissingNamespaces says what happens where the namespace of a dependent does not exist; it is created by default.
	MissingNamespaces MissingNamespacesPolicy
	// Reapply is the time after which a dependent is applied again although it looks in sync; zero, the default, turns
	// that off.
	Reapply time.Duration
}

// Or returns the policies with empty fields taken from a fallback.
func (p Policies) Or(fallback Policies) Policies {
	if p.Update == UpdateDefault {
		p.Update = ""
	}
	fill(&p.Reconcile, fallback.Reconcile)
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

// ReconcilePolicy says when a dependent is applied.
// +kubebuilder:validation:Enum=on-object-change;on-object-or-component-change;once
type ReconcilePolicy string

// The reconcile policies.
const (
	// ReconcileOnObjectChange applies whenever the generated manifest changes, and repairs drift. It is the default.
	ReconcileOnObjectChange ReconcilePolicy = "on-object-change"
	// ReconcileOnObjectOrComponentChange also applies whenever the component changes.
	ReconcileOnObjectOrComponentChange ReconcilePolicy = "on-object-or-component-change"
	// ReconcileOnce applies once, and never touches the object again.
	ReconcileOnce ReconcilePolicy = "once"
)

// UpdatePolicy says how an existing dependent is updated.
// +kubebuilder:validation:Enum=default;replace;recreate;ssa-merge;ssa-override
type UpdatePolicy string

// The update policies.
const (
	// UpdateDefault is what the reconciler is configured to.
	UpdateDefault UpdatePolicy = "default"
	// UpdateReplace reads the object and updates it (PUT), keeping what others and the server set.
	UpdateReplace UpdatePolicy = "replace"
	// UpdateRecreate deletes the object, waits until it is gone, and creates it.
	UpdateRecreate UpdatePolicy = "recreate"
	// UpdateSSAMerge applies server-side with force; fields that others own stay.
	UpdateSSAMerge UpdatePolicy = "ssa-merge"
	// UpdateSSAOverride applies server-side with force, and takes over what kubectl and helm own, so that fields
	// dropped from the manifest disappear.
	UpdateSSAOverride UpdatePolicy = "ssa-override"
)

// AdoptionPolicy says what happens when an object that should be created exists already.
// +kubebuilder:validation:Enum=if-unowned;never;always
type AdoptionPolicy string

// The adoption policies.
const (
	// AdoptIfUnowned adopts objects that have no owner. It is the default.
	AdoptIfUnowned AdoptionPolicy = "if-unowned"
	// AdoptNever never adopts.
	AdoptNever AdoptionPolicy = "never"
	// AdoptAlways adopts even what somebody else owns.
	AdoptAlways AdoptionPolicy = "always"
)

// DeletePolicy says what happens to a dependent that is no longer wanted.
// +kubebuilder:validation:Enum=delete;orphan;orphan-on-apply;orphan-on-delete
type DeletePolicy string

// The delete policies.
const (
	// DeleteDelete deletes it. It is the default.
	DeleteDelete DeletePolicy = "delete"
	// DeleteOrphan releases it, both when it is pruned and when the component is deleted.
	DeleteOrphan DeletePolicy = "orphan"
	// DeleteOrphanOnApply releases it when it is pruned.
	DeleteOrphanOnApply DeletePolicy = "orphan-on-apply"
	// DeleteOrphanOnDelete releases it when the component is deleted.
	DeleteOrphanOnDelete DeletePolicy = "orphan-on-delete"
)

// MissingNamespacesPolicy says what happens when a dependent's namespace does not exist and is not a dependent itself.
// +kubebuilder:validation:Enum=create;refuse
type MissingNamespacesPolicy string

// The policies for missing namespaces.
const (
	// MissingNamespacesCreate creates the namespace; it is not a dependent, and never deleted.
	MissingNamespacesCreate MissingNamespacesPolicy = "create"
	// MissingNamespacesRefuse reports an error.
	MissingNamespacesRefuse MissingNamespacesPolicy = "refuse"
)
