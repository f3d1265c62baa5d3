package v1alpha1

import (
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The types below are parts of a spec. An author embeds the parts inline in the spec of a component, and returns the
// spec from the method GetSpec of the component. The reconciler then finds the optional interface that each part
// implements. Only the fields of PlacementSpec, ManagedTypesSpec and of the author are inputs of the rendering. A
// change of another part starts no new revision.

// UnsetInterval is the result of a method for an interval or a timeout that the spec does not set. The option of the
// reconciler then applies.
const UnsetInterval = time.Duration(math.MinInt64)

// PlacementSpec sets the namespace and the name under which a component is rendered. It implements component.Placer.
type PlacementSpec struct {
	// TargetNamespace is the namespace of dependents whose manifests have no namespace. The default is the component's
	// namespace. It cannot change while dependents exist.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	TargetNamespace string `json:"targetNamespace,omitempty"`

	// TargetName is the name for which the dependents are rendered, such as the release name of a chart. The default is
	// the component's name. It cannot change while dependents exist.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	TargetName string `json:"targetName,omitempty"`
}

// Placement returns the namespace and the name. An empty text stands for the value of the component.
func (s PlacementSpec) Placement() (namespace, name string) { return s.TargetNamespace, s.TargetName }

// SuspendSpec stops the reconciliation of a component. It implements component.Suspender.
type SuspendSpec struct {
	// Suspend stops the reconciliation of the component. The component can still be deleted.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// Suspended reports whether the component is suspended.
func (s SuspendSpec) Suspended() bool { return s.Suspend }

// PoliciesSpec sets the default policies of dependents. It implements component.PolicyHolder.
type PoliciesSpec struct {
	// ReconcilePolicy applies to dependents whose manifests set no reconcile policy. The default is on-object-change.
	// +optional
	ReconcilePolicy ReconcilePolicy `json:"reconcilePolicy,omitempty"`

	// AdoptionPolicy applies to dependents whose manifests set no adoption policy. The default is if-unowned.
	// +optional
	AdoptionPolicy AdoptionPolicy `json:"adoptionPolicy,omitempty"`

	// UpdatePolicy applies to dependents whose manifests set no update policy. The default is the policy of the operator:
	// replace, but ssa-override in the operator of fairlead.io.
	// +optional
	UpdatePolicy UpdatePolicy `json:"updatePolicy,omitempty"`

	// DeletePolicy applies to dependents whose manifests set no delete policy. The default is delete.
	// PersistentVolumeClaims are kept unless their own manifests set the policy delete.
	// +optional
	DeletePolicy DeletePolicy `json:"deletePolicy,omitempty"`

	// MissingNamespacesPolicy sets whether missing namespaces of dependents are created. The default is create: created
	// namespaces are never deleted. With own, they are deleted when the component no longer needs them, unless they
	// contain objects of others.
	// +optional
	MissingNamespacesPolicy MissingNamespacesPolicy `json:"missingNamespacesPolicy,omitempty"`

	// ReapplyInterval is the time after which dependents are applied again even if no drift was detected. It applies to
	// dependents whose manifests set no reapply interval. By default, the interval of the operator applies; if it has
	// none, they are not applied again.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('0s')",message="want a duration of at most 290 years, such as 10m or 1h30m"
	ReapplyInterval *metav1.Duration `json:"reapplyInterval,omitempty"`
}

// Policies returns the policies. An empty policy stands for the policy of the operator.
func (s PoliciesSpec) Policies() Policies {
	p := Policies{
		Reconcile: s.ReconcilePolicy, Adoption: s.AdoptionPolicy, Update: s.UpdatePolicy, Delete: s.DeletePolicy,
		MissingNamespaces: s.MissingNamespacesPolicy,
	}
	if s.ReapplyInterval != nil {
		p.Reapply = s.ReapplyInterval.Duration
	}
	return p
}

// TimeoutSpec limits the time in which a component must become Ready. It implements component.Timeouter.
type TimeoutSpec struct {
	// TimeoutDuration is the time in which the component must become Ready. The default is the timeout of the operator,
	// 10m unless its author set another. After this time the component is Stalled with reason Timeout. Zero means that
	// there is no timeout.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('0s')",message="want a duration of at most 290 years, such as 10m or 1h30m"
	TimeoutDuration *metav1.Duration `json:"timeout,omitempty"`
}

// Timeout returns the timeout, or UnsetInterval if the spec has none.
func (s TimeoutSpec) Timeout() time.Duration { return durationOrUnset(s.TimeoutDuration) }

// RetrySpec sets the delay before the retry of a persistent error. It implements component.Retrier.
type RetrySpec struct {
	// RetryDuration is the delay before the next attempt after a persistent error. The default is the retry interval of
	// the operator, 1m unless its author set another. After a temporary error, the next attempt is made sooner.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('0s')",message="want a duration of at most 290 years, such as 10m or 1h30m"
	RetryDuration *metav1.Duration `json:"retryInterval,omitempty"`
}

// RetryInterval returns the delay, or UnsetInterval if the spec has none.
func (s RetrySpec) RetryInterval() time.Duration { return durationOrUnset(s.RetryDuration) }

// ResyncSpec sets the interval of the periodic resync. It implements component.Resyncer.
type ResyncSpec struct {
	// Interval is the interval of the periodic resync. The default is the interval of the operator, 10h unless its author
	// set another. Zero turns the resync off.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('0s')",message="want a duration of at most 290 years, such as 10m or 1h30m"
	Interval *metav1.Duration `json:"interval,omitempty"`
}

// ResyncInterval returns the interval, or UnsetInterval if the spec has none.
func (s ResyncSpec) ResyncInterval() time.Duration { return durationOrUnset(s.Interval) }

func durationOrUnset(d *metav1.Duration) time.Duration {
	if d == nil {
		return UnsetInterval
	}
	return d.Duration
}

// ServiceAccountSpec names the service account of a component. It implements component.ServiceAccountHolder.
type ServiceAccountSpec struct {
	// ServiceAccount is a service account in the component's namespace. The operator acts as this account when it writes
	// and adopts dependents, looks up objects for the rendering, and reads references. If it is empty, the operator's
	// default is used. It cannot be combined with a kubeconfig.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ServiceAccount string `json:"serviceAccountName,omitempty"`
}

// ServiceAccountName returns the name of the service account, in the namespace of the component. An empty name stands
// for the default of the operator.
func (s ServiceAccountSpec) ServiceAccountName() string { return s.ServiceAccount }

// KubeConfigSpec names the kubeconfig of a component. It implements component.Targeter.
type KubeConfigSpec struct {
	// Target refers to a kubeconfig with the cluster to which dependents are applied, and with the user who applies them.
	// By default dependents are applied to the component's own cluster. The cluster cannot change while dependents exist.
	// +optional
	Target *KubeConfigSource `json:"kubeConfig,omitempty"`
}

// KubeConfigSource refers to a kubeconfig.
type KubeConfigSource struct {
	// SecretRef names the Secret in the component's namespace that contains the kubeconfig.
	SecretRef KubeConfigKey `json:"secretRef"`
}

// KubeConfigKey names a key in a Secret.
type KubeConfigKey struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Key in the Secret. The default is value.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// KubeConfig returns the reference to the kubeconfig, or nil if the dependents are in the cluster of the component.
func (s KubeConfigSpec) KubeConfig() *KubeConfigReference {
	if s.Target == nil {
		return nil
	}
	return &KubeConfigReference{Name: s.Target.SecretRef.Name, Key: s.Target.SecretRef.Key}
}

// IgnoreSpec lists fields of dependents that are left to others. It implements component.IgnoreHolder.
type IgnoreSpec struct {
	// Ignore names fields of dependents that are left to others, such as the replicas that an autoscaler sets. A dependent
	// has the value of its manifest when it is created; after that the field is neither changed nor removed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Ignore []IgnoreRule `json:"ignore,omitempty"`
}

// IgnoreRules returns the rules.
func (s IgnoreSpec) IgnoreRules() []IgnoreRule { return s.Ignore }

// AdoptSpec lists the existing objects that a component may take over. It implements component.AdoptHolder.
type AdoptSpec struct {
	// Adopt lists the existing objects without an owner that the component may take over where the adoption policy is
	// if-unowned, and the clusters whose objects of this component it may take over. A list, also an empty one, is
	// complete: no other object is taken over. Without a list, all objects without an owner are, except those that carry
	// the mark of another tool, such as Helm. The policies never and always do not need the list. A change of the list
	// makes no new revision.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=2000
	Adopt []AdoptRule `json:"adopt,omitzero"`
}

// AdoptRules returns the rules. It returns nil if there is no list, and an empty slice for an empty list.
func (s AdoptSpec) AdoptRules() []AdoptRule { return s.Adopt }

// ManagedTypesSpec declares additional managed types. It implements component.TypeHolder.
type ManagedTypesSpec struct {
	// ManagedTypes are types that no dependent defines in its manifest, for example types that a dependent creates at run
	// time. Foreign instances of these types (objects that are not dependents) block the deletion of the component.
	// Dependents of these types are applied last and deleted first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	ManagedTypes []TypePattern `json:"additionalManagedTypes,omitempty"`
}

// AdditionalManagedTypes returns the types that the component manages besides those that its dependents define.
func (s ManagedTypesSpec) AdditionalManagedTypes() []TypePattern { return s.ManagedTypes }

// ExportsSpec names the exports that a component publishes. It implements component.Exporter.
type ExportsSpec struct {
	// ExportNames are the names of exports of dependents whose values are published in status.exports. Everybody who may
	// read the component can read these values. Exports of Secrets cannot be published. A value that vanishes stays in the
	// status until the dependent exports another value, or until the name is removed here.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	ExportNames []string `json:"exports,omitempty"`
}

// Exports returns the names of the exports.
func (s ExportsSpec) Exports() []string { return s.ExportNames }

// EmptySpec allows an empty rendering. It implements component.EmptyAllower.
type EmptySpec struct {
	// EmptyAllowed allows a rendering without objects although dependents exist. All dependents are then pruned.
	// +optional
	EmptyAllowed bool `json:"allowEmpty,omitempty"`
}

// AllowEmpty reports whether an empty rendering is allowed.
func (s EmptySpec) AllowEmpty() bool { return s.EmptyAllowed }
