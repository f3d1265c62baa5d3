package v1alpha1

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
	// UpdateSSAOverride applies server-side with force, and takes over what kubectl and helm own, so that fields dropped from the
	// manifest disappear.
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
