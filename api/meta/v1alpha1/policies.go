package v1alpha1

import "time"

// Policies are the policies of dependents whose manifests set no policy. If a field of a component's policies is empty,
// the policy of its reconciler applies.
//
// +kubebuilder:object:generate=false
type Policies struct {
	// Reconcile is the reconcile policy. The default is on-object-change.
	Reconcile ReconcilePolicy
	// Update is the update policy. The default is replace.
	Update UpdatePolicy
	// Adoption is the adoption policy. The default is if-unowned.
	Adoption AdoptionPolicy
	// Delete is the delete policy. The default is delete. Some PersistentVolumeClaims and namespaces are kept even with
	// the policy delete: see docs/dependents/deletion.md.
	Delete DeletePolicy
	// MissingNamespaces is the policy for dependents whose namespace does not exist. By default, the namespace is created.
	MissingNamespaces MissingNamespacesPolicy
	// Reapply is the time after which a dependent is applied again even if no drift was detected. Zero, the default, turns
	// this off.
	Reapply time.Duration
}

// Or returns a copy of the policies whose empty fields are taken from fallback.
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

// ReconcilePolicy sets when a dependent is applied again.
// +kubebuilder:validation:Enum=on-object-change;on-object-or-component-change;once;create-only;update-only;always
type ReconcilePolicy string

// The reconcile policies.
const (
	// ReconcileOnObjectChange applies the dependent when its rendered manifest changes, and repairs drift. It is the
	// default.
	ReconcileOnObjectChange ReconcilePolicy = "on-object-change"
	// ReconcileOnObjectOrComponentChange is like ReconcileOnObjectChange, and also applies the dependent when the
	// component changes.
	ReconcileOnObjectOrComponentChange ReconcilePolicy = "on-object-or-component-change"
	// ReconcileOnce applies the dependent once. Later changes of the manifest and drift have no effect.
	ReconcileOnce ReconcilePolicy = "once"
	// ReconcileCreateOnly creates the dependent if it does not exist, also after somebody deleted it, and never updates
	// it. Later changes of the manifest and drift have no effect on an existing object.
	ReconcileCreateOnly ReconcilePolicy = "create-only"
	// ReconcileUpdateOnly updates the dependent and repairs drift, and never creates it. The component waits until the
	// object exists. By default, the object is kept when it is no longer needed.
	ReconcileUpdateOnly ReconcilePolicy = "update-only"
	// ReconcileAlways is like ReconcileOnObjectChange, and also applies the dependent in each pass over the component. It
	// starts no pass.
	ReconcileAlways ReconcilePolicy = "always"
	// ReconcileObserve only reads the object, which somebody else creates: the component waits in its wave until the
	// object exists and is ready, and never writes, adopts or deletes it. The manifest has a type and a name only. The
	// policy is a setting of manifests, and cannot be a default.
	ReconcileObserve ReconcilePolicy = "observe"
)

// UpdatePolicy sets how an existing dependent is updated.
// +kubebuilder:validation:Enum=default;replace;recreate;ssa-merge;ssa-override
type UpdatePolicy string

// The update policies.
const (
	// UpdateDefault is the policy of the component, and in the spec of a component the policy of its operator.
	UpdateDefault UpdatePolicy = "default"
	// UpdateReplace reads the object and updates it with a PUT request. Fields that other clients or the API server set
	// are kept.
	UpdateReplace UpdatePolicy = "replace"
	// UpdateRecreate deletes the object, waits until it no longer exists, and creates it again.
	UpdateRecreate UpdatePolicy = "recreate"
	// UpdateSSAMerge uses server-side apply with force. Fields that other field managers own and that are not in the
	// manifest are kept.
	UpdateSSAMerge UpdatePolicy = "ssa-merge"
	// UpdateSSAOverride uses server-side apply with force, and takes over the fields that kubectl and Helm own. Fields
	// that kubectl or Helm own and that are not in the manifest are removed.
	UpdateSSAOverride UpdatePolicy = "ssa-override"
)

// AdoptionPolicy sets what happens if an object with the name of a new dependent already exists.
// +kubebuilder:validation:Enum=if-unowned;never;always
type AdoptionPolicy string

// The adoption policies.
const (
	// AdoptIfUnowned adopts the existing object if it has no owner. It is the default.
	AdoptIfUnowned AdoptionPolicy = "if-unowned"
	// AdoptNever reports an existing object as an error, and never adopts it.
	AdoptNever AdoptionPolicy = "never"
	// AdoptAlways adopts the existing object even if it has another owner.
	AdoptAlways AdoptionPolicy = "always"
)

// DeletePolicy sets what happens to a dependent that is pruned (no longer rendered), or whose component is deleted.
// +kubebuilder:validation:Enum=delete;orphan;orphan-on-apply;orphan-on-delete
type DeletePolicy string

// The delete policies.
const (
	// DeleteDelete deletes the dependent. It is the default.
	DeleteDelete DeletePolicy = "delete"
	// DeleteOrphan releases the dependent instead of deleting it: the object stays, and no longer belongs to the
	// component.
	DeleteOrphan DeletePolicy = "orphan"
	// DeleteOrphanOnApply releases the dependent when it is pruned, and deletes it with the component.
	DeleteOrphanOnApply DeletePolicy = "orphan-on-apply"
	// DeleteOrphanOnDelete releases the dependent when the component is deleted, and deletes it when it is pruned.
	DeleteOrphanOnDelete DeletePolicy = "orphan-on-delete"
)

// PrunePolicy sets when a dependent that is no longer rendered is pruned.
// +kubebuilder:validation:Enum=when-ready;at-once
type PrunePolicy string

// The prune policies.
const (
	// PruneWhenReady prunes the dependent when all other dependents are applied and ready. It is the default.
	PruneWhenReady PrunePolicy = "when-ready"
	// PruneAtOnce prunes the dependent at once, also while other dependents are not ready or have failed.
	PruneAtOnce PrunePolicy = "at-once"
)

// MissingNamespacesPolicy sets what happens if the namespace of a dependent does not exist and is not a dependent
// itself.
// +kubebuilder:validation:Enum=create;own;refuse
type MissingNamespacesPolicy string

// The policies for missing namespaces.
const (
	// MissingNamespacesCreate creates the namespace. The namespace does not become a dependent, and is never deleted.
	MissingNamespacesCreate MissingNamespacesPolicy = "create"
	// MissingNamespacesOwn creates the namespace, and deletes it when no dependent needs it any more, or when the
	// component is deleted. A namespace that contains objects of others by then, or that others have changed, is kept. A
	// namespace that existed before is never deleted. If the delete policy of the component is not delete, or if the name
	// of the namespace begins with kube-, the policy is like MissingNamespacesCreate.
	MissingNamespacesOwn MissingNamespacesPolicy = "own"
	// MissingNamespacesRefuse reports an error for the dependent, and does not create the namespace.
	MissingNamespacesRefuse MissingNamespacesPolicy = "refuse"
)
