package component

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// Component is the custom resource that a Reconciler reconciles. T in Reconciler[T] is a pointer to a struct.
type Component interface {
	client.Object
	// GetParameters returns what the generator renders with, usually the spec as plain data. An error is the user's: it
	// stalls the component with reason InvalidSpec.
	GetParameters() (map[string]any, error)
	// GetStatus returns a pointer into the object, never nil.
	GetStatus() *metav1alpha1.Status
}

// The interfaces below are optional; a component implements those it wants.

// Placer says where, and as what, a component is deployed. By default that is its own namespace and name.
type Placer interface {
	Placement() (namespace, name string)
}

// Validator checks what the CRD cannot. An error stalls the component with reason InvalidSpec; nothing is touched.
type Validator interface {
	Validate() error
}

// Suspender says that a component is suspended: nothing is written or polled for it, deletion still works.
type Suspender interface {
	Suspended() bool
}

// PolicyHolder sets the policies of the dependents that name none.
type PolicyHolder interface {
	Policies() Policies
}

// EmptyAllower says whether nothing may be rendered where there are dependents; then all of them are pruned. Otherwise
// that is refused, because more often than not it is a mistake.
type EmptyAllower interface {
	AllowEmpty() bool
}

// TypeHolder declares types whose foreign instances block the deletion, although no dependent defines them. Dependents
// of these types are applied last and deleted first. What counts is what was declared at the last apply.
type TypeHolder interface {
	AdditionalManagedTypes() []metav1alpha1.TypePattern
}

// ReferenceHolder lists the Secrets and ConfigMaps of its own namespace whose content is an input of the rendering, or
// a credential that it needs. The generator gets their data; a change wakes the component.
type ReferenceHolder interface {
	References() []metav1alpha1.Reference
}

// SourceHolder names a source outside the cluster, which Options.Fetcher gets; the generator gets it as Request.Source.
// nil means that the component has none. The digest is an input of the rendering; where it comes from is none.
type SourceHolder interface {
	Source() *metav1alpha1.SourceReference
}

// SourceNamer names what a component is rendered from, in a few words and without credentials, for the history in the
// status. One of its references is named as "ConfigMap name" or "Secret name", and then the history identifies its
// content, too. Without this interface it is the location of a SourceHolder.
type SourceNamer interface {
	SourceName() string
}

// Targeter applies the dependents to the cluster of a kubeconfig, as the user that it names; nil means the component's
// own cluster. A component that has a kubeconfig cannot name an identity as well.
type Targeter interface {
	KubeConfig() *metav1alpha1.KubeConfigReference
}

// ServiceAccountHolder names the service account, of the component's own namespace, as which dependents are written and
// adopted, and as which the generator looks up and its references are read. Without one it is the operator itself, or
// Options.DefaultServiceAccount.
type ServiceAccountHolder interface {
	ServiceAccountName() string
}

// Impersonator names a user and its groups instead of a service account; no user means no impersonation. Whoever may
// write such a component acts as any user that the operator may impersonate.
type Impersonator interface {
	Impersonation() (user string, groups []string)
}

// Resyncer sets the interval of the resync; zero or less turns it off.
type Resyncer interface {
	ResyncInterval() time.Duration
}

// Retrier sets how long to wait after an error that does not go away by itself. What others have to allow is tried
// again sooner at first.
type Retrier interface {
	RetryInterval() time.Duration
}

// Timeouter sets how long a component may be on its way before it is Stalled with reason Timeout. It restarts when the
// inputs change.
type Timeouter interface {
	Timeout() time.Duration
}

// InputSelector says which part of a component is an input of the rendering; it must be plain data. By default that is
// the whole spec: a component that implements this interface can change its interval, say, without a new revision.
type InputSelector interface {
	RenderInputs() any
}
