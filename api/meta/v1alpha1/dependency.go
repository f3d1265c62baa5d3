package v1alpha1

// DependencySpec names the components that a component needs. It implements component.DependencyHolder.
type DependencySpec struct {
	// DependsOn names other components that this one needs. New inputs of this component are applied when all of them are
	// Ready. Until then the applied dependents are repaired, unless the operator restarts. As long as this component has
	// dependents, the components that it needs are not deleted. A change of the list makes no new revision.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	DependsOn []Dependency `json:"dependsOn,omitempty"`
}

// Dependencies returns the components that the component needs.
func (s DependencySpec) Dependencies() []Dependency { return s.DependsOn }

// Dependency names a component that another component needs. Both have the same type.
type Dependency struct {
	// Namespace of the needed component. The default is the namespace of the component that needs it. A component in
	// another namespace must list this namespace in allowDependents.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`

	// Name of the needed component.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Deletion says whether the needed component waits with its deletion until this component has no dependents any more
	// (block), or does not wait (ignore). The default is block.
	// +optional
	Deletion DependencyDeletion `json:"deletion,omitempty"`
}

// DependencyDeletion says what a dependency means for the deletion of the needed component.
// +kubebuilder:validation:Enum=block;ignore
type DependencyDeletion string

// The values of DependencyDeletion.
const (
	// DependencyBlocks means that the needed component is deleted last.
	DependencyBlocks DependencyDeletion = "block"
	// DependencyIgnored means that the needed component may be deleted at any time.
	DependencyIgnored DependencyDeletion = "ignore"
)

// ConsentSpec permits components in other namespaces to depend on a component. It implements component.ConsentHolder.
type ConsentSpec struct {
	// AllowDependents lists the other namespaces whose components may name this component in dependsOn. They learn whether
	// it is Ready, and block its deletion. Components in the same namespace always may. A change of the list makes no new
	// revision.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	AllowDependents []Consent `json:"allowDependents,omitempty"`
}

// Consents returns the other namespaces whose components may depend on the component.
func (s ConsentSpec) Consents() []Consent { return s.AllowDependents }

// Consent permits the components of a namespace to depend on a component in another namespace.
type Consent struct {
	// Namespace is the name of a namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
}
