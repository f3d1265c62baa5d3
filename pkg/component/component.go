package component

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// Component is the custom resource that a Reconciler reconciles. T in Reconciler[T] is a pointer to a struct.
type Component interface {
	client.Object
	// GetParameters returns the parameters of the generator, usually the spec as plain data. An error is treated as a
	// mistake in the spec: the component becomes Stalled with reason InvalidSpec.
	GetParameters() (map[string]any, error)
	// GetStatus returns a pointer to the status inside the object; it is never nil.
	GetStatus() *metav1alpha1.Status
}

// The interfaces below are optional. A component, or its spec (see SpecHolder), implements the interfaces whose
// behaviour it needs.

// SpecHolder returns the spec of a component, usually a pointer to it. The reconciler looks for each optional interface
// in the component first, and then in its spec. So a spec can embed parts such as metav1alpha1.SuspendSpec, which
// implement the interfaces. The fields of such parts are not inputs of the rendering, unless they influence it; see
// InputSelector. The spec is never nil.
type SpecHolder interface {
	GetSpec() any
}

// Placer sets the namespace and the name under which a component is rendered. Without this interface, and where a
// result is empty, they are the namespace and the name of the component.
type Placer interface {
	Placement() (namespace, name string)
}

// Validator checks rules that the schema of the CRD cannot express. If Validate returns an error, the component becomes
// Stalled with reason InvalidSpec, and nothing of the new spec is applied. Dependents of the last valid spec are still
// repaired, if the refused one leaves the cluster, the identity, the policies and the permissions as they were, and the
// process has the last rendering in memory.
type Validator interface {
	Validate() error
}

// Suspender reports whether a component is suspended. While a component is suspended, the reconciler neither writes nor
// polls its dependents. A suspended component can still be deleted.
type Suspender interface {
	Suspended() bool
}

// PolicyHolder sets the default policies of a component. The default policies apply to dependents whose manifests set
// no policy.
type PolicyHolder interface {
	Policies() metav1alpha1.Policies
}

// IgnoreHolder lists fields of dependents that are left to others, in addition to Options.Dependents.Ignore and to the
// annotations of manifests. A change of these rules starts no new revision; the dependents with changed rules are
// written once. Rules that cannot be parsed are treated as a mistake in the spec: the component becomes Stalled with
// reason InvalidSpec.
type IgnoreHolder interface {
	IgnoreRules() []metav1alpha1.IgnoreRule
}

// AdoptHolder lists the existing objects without an owner that a component may take over where the adoption policy is
// if-unowned, and the clusters whose objects of this component it may take over. If AdoptRules returns nil, all objects
// without an owner may be taken over, except those that carry the mark of another tool, such as Helm. Any other list,
// also an empty one, is complete. A change of the rules starts no new revision.
type AdoptHolder interface {
	AdoptRules() []metav1alpha1.AdoptRule
}

// EmptyAllower reports whether the generator may return no objects although dependents exist. If AllowEmpty returns
// true, an empty result prunes all dependents. Otherwise an empty result is an error, because it is usually a mistake.
type EmptyAllower interface {
	AllowEmpty() bool
}

// TypeHolder declares additional types whose foreign instances (objects that are not dependents of the component) block
// the deletion of the component, although none of its dependents defines these types. Dependents of these types are
// applied last and deleted first. A deletion uses the types that were declared at the last apply.
type TypeHolder interface {
	AdditionalManagedTypes() []metav1alpha1.TypePattern
}

// ReferenceHolder lists Secrets, ConfigMaps, and published exports of other components (see Exporter), in the
// component's namespace, whose content is an input of the rendering or a credential. The generator receives their data.
// A change of their content starts a pass over the component. References between components of the same type must not
// form cycles.
type ReferenceHolder interface {
	References() []metav1alpha1.Reference
}

// DependencyHolder names other components of the same type that a component needs; see metav1alpha1.DependencySpec. New
// inputs of the component are applied when all of them are Ready. A needed component is not deleted as long as the
// component has dependents, unless the dependency says otherwise. Only the stored component counts: a hook cannot change
// the list. At most 32 components can be named. A component that names itself, or one component twice, has an invalid
// spec.
type DependencyHolder interface {
	Dependencies() []metav1alpha1.Dependency
}

// ConsentHolder lists the other namespaces whose components may depend on a component. Components in its own namespace
// always may.
type ConsentHolder interface {
	Consents() []metav1alpha1.Consent
}

// Exporter names the exports of dependents that are published in Status.Exports, for example for other components that
// have a Reference to the component. A name that no dependent exports, and an export of a Secret, are mistakes in the
// spec: the component becomes Stalled with reason InvalidSpec, and no dependent is changed. The values have together at
// most 16 KiB as JSON. A value that vanishes stays in the status.
type Exporter interface {
	Exports() []string
}

// SourceHolder names a source outside the cluster, such as an archive. Options.Fetcher fetches the source, and the
// generator receives its files as Request.Source. If Source returns nil, the component has no source outside the
// cluster. The digest of the source is an input of the rendering; its URL is not.
type SourceHolder interface {
	Source() *metav1alpha1.SourceReference
}

// SourceNamer names the source of a component for the history in the status, in a few words and without credentials. If
// the source is one of the component's references, the name has the form "ConfigMap name" or "Secret name"; the history
// then also has a digest of the content of that object. Without this interface, the name is the URL of a SourceHolder's
// source.
type SourceNamer interface {
	SourceName() string
}

// SourceDigester identifies the content of a source that consists of several of the component's references. The history
// in the status contains the digest.
type SourceDigester interface {
	SourceDigest() string
}

// Targeter names a kubeconfig. The dependents are applied to the cluster of the kubeconfig, as its user. If KubeConfig
// returns nil, they are applied to the component's own cluster. A component with a kubeconfig must not also set a
// service account or an impersonated user.
type Targeter interface {
	KubeConfig() *metav1alpha1.KubeConfigReference
}

// ServiceAccountHolder names a service account in the component's namespace. The reconciler acts as this account when
// it writes and adopts dependents, when the generator looks up objects, and when it reads the component's references.
// If the name is empty, the reconciler acts as Options.DefaultServiceAccount, or, if that is empty too, as the
// operator.
type ServiceAccountHolder interface {
	ServiceAccountName() string
}

// Impersonator names a user and its groups to impersonate, instead of a service account. If the user is empty, the
// reconciler impersonates no user. Note that every user with write access to such components can act as any user that
// the operator may impersonate.
type Impersonator interface {
	Impersonation() (user string, groups []string)
}

// Resyncer sets the interval of the periodic resync. Zero or less turns the resync off. With
// metav1alpha1.UnsetInterval, Options.Intervals.Resync applies.
type Resyncer interface {
	ResyncInterval() time.Duration
}

// Retrier sets the delay before the retry of a persistent error, that is, of an error that needs a change by a person
// or another controller. If a permission is missing, the first retries come sooner, because an administrator may grant
// it at any time. With zero or less, Options.Intervals.Retry applies.
type Retrier interface {
	RetryInterval() time.Duration
}

// Timeouter sets the maximum time in which a component must become Ready. After this time the component becomes Stalled
// with reason Timeout. The time restarts when the inputs change. Zero or less means that there is no timeout. With
// metav1alpha1.UnsetInterval, Options.Intervals.Timeout applies.
type Timeouter interface {
	Timeout() time.Duration
}

// InputSelector returns the part of a component that is an input of the rendering, as plain data. With this interface,
// a change of any other field, such as a resync interval, does not start a new revision. Without this interface, the
// whole spec is an input. If the component is a SpecHolder, and its spec embeds parts of package metav1alpha1, these
// parts are left out of the inputs, except PlacementSpec and ManagedTypesSpec.
type InputSelector interface {
	RenderInputs() any
}
