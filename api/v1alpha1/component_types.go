package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// Component is a set of objects that belong together, rendered from a source and applied in order.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=comp,categories=fairlead
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Dependents",type=string,JSONPath=`.status.dependents.summary`
// +kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.status.revision`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Component struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ComponentSpec       `json:"spec"`
	Status metav1alpha1.Status `json:"status,omitempty,omitzero"`
}

// ComponentList is a list of components.
//
// +kubebuilder:object:root=true
type ComponentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Component `json:"items"`
}

// ComponentSpec says what to render, with which values, and how to apply it. Durations are validated down to their
// range: one that clients cannot decode would end every watch on components.
//
// +kubebuilder:validation:XValidation:rule="(has(self.generator) && self.generator == 'Function') == has(self.function)",message="generator: Function and function go together"
// +kubebuilder:validation:XValidation:rule="has(self.source) != has(self.function)",message="want either source, or generator: Function with function"
// +kubebuilder:validation:XValidation:rule="!has(self.function) || !has(self.path)",message="path is that of a folder in the source, which a function does not have"
// +kubebuilder:validation:XValidation:rule="!has(self.helm) || !has(self.generator) || self.generator == 'Helm'",message="helm is for charts: generator must be Helm, or left out"
type ComponentSpec struct {
	// Source holds the chart, kustomization or templates; a function needs none.
	// +optional
	Source Source `json:"source,omitempty,omitzero"`

	// Path is the folder inside the source that is rendered. By default that is the root; or, where nothing is there
	// but one folder that holds a Chart.yaml or a kustomization.yaml, as in a packed chart, that folder. A dot is the
	// root in any case.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path,omitempty"`

	// Generator renders the source. By default it is detected: Helm where there is a Chart.yaml, Kustomize where there
	// is a kustomization.yaml, GoTemplate otherwise. Function is a service of your own.
	// +optional
	Generator GeneratorName `json:"generator,omitempty"`

	// Helm says how a chart is rendered. It goes with charts only.
	// +optional
	Helm *HelmOptions `json:"helm,omitempty"`

	// Function is the service that renders where Generator is Function.
	// +optional
	Function *FunctionGenerator `json:"function,omitempty"`

	// TargetNamespace is where dependents without namespace go; the component's namespace by default. It cannot change
	// while dependents exist.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	TargetNamespace string `json:"targetNamespace,omitempty"`

	// TargetName is the release name; the component's name by default. It cannot change while dependents exist.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	TargetName string `json:"targetName,omitempty"`

	// Values are the parameters of the rendering. They win over ValuesFrom.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Values *runtime.RawExtension `json:"values,omitempty"`

	// ValuesFrom reads values from Secrets and ConfigMaps of the component's namespace; later ones win.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	ValuesFrom []metav1alpha1.ValuesReference `json:"valuesFrom,omitempty"`

	// PostRenderers change the rendered objects, one after the other.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	PostRenderers []PostRenderer `json:"postRenderers,omitempty"`

	// ServiceAccountName is the service account of the component's namespace as which dependents are written and
	// adopted, and as which the rendering looks up and reads what it references; the operator's default without it. It
	// goes without KubeConfig.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// KubeConfig names the cluster that dependents are applied to, and the user who applies them; the component's own
	// cluster by default. The cluster cannot change while dependents exist.
	// +optional
	KubeConfig *KubeConfig `json:"kubeConfig,omitempty"`

	// AdoptionPolicy is that of dependents that name none; if-unowned by default.
	// +optional
	AdoptionPolicy metav1alpha1.AdoptionPolicy `json:"adoptionPolicy,omitempty"`

	// UpdatePolicy is that of dependents that name none; the operator's by default, ssa-override.
	// +optional
	UpdatePolicy metav1alpha1.UpdatePolicy `json:"updatePolicy,omitempty"`

	// DeletePolicy is that of dependents that name none; delete by default. Claims are kept unless their own manifest
	// says delete.
	// +optional
	DeletePolicy metav1alpha1.DeletePolicy `json:"deletePolicy,omitempty"`

	// MissingNamespacesPolicy says whether namespaces that do not exist are created, which is the default. They are
	// never deleted.
	// +optional
	MissingNamespacesPolicy metav1alpha1.MissingNamespacesPolicy `json:"missingNamespacesPolicy,omitempty"`

	// AdditionalManagedTypes are types whose foreign instances block the deletion, although no dependent defines them:
	// types that a dependent brings at run time, say. Their own instances are applied last and deleted first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	AdditionalManagedTypes []metav1alpha1.TypePattern `json:"additionalManagedTypes,omitempty"`

	// AllowEmpty accepts an empty rendering after a non-empty one; all dependents are pruned then.
	// +optional
	AllowEmpty bool `json:"allowEmpty,omitempty"`

	// Suspend stops reconciling; deletion still works.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// Interval of the resync; 10h by default, zero turns it off.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('0s')",message="want a duration of at most 290 years, such as 10m or 1h30m"
	Interval *metav1.Duration `json:"interval,omitempty"`

	// RetryInterval is how long to wait after an error that does not go away by itself; 1m by default.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('0s')",message="want a duration of at most 290 years, such as 10m or 1h30m"
	RetryInterval *metav1.Duration `json:"retryInterval,omitempty"`

	// Timeout is how long the component may be on its way before it is Stalled with reason Timeout; 10m by default.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('0s')",message="want a duration of at most 290 years, such as 10m or 1h30m"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

// HelmOptions say how a chart is rendered.
type HelmOptions struct {
	// SkipCRDs leaves out what the folders crds of the chart and of its sub-charts hold, as helm install --skip-crds
	// does: for all but one of the components that install the same chart in a cluster. Definitions that the component
	// has applied before are pruned, unless foreign instances of them exist.
	// +optional
	SkipCRDs bool `json:"skipCRDs,omitempty"`
}

// GeneratorName names a generator of the operator.
// +kubebuilder:validation:Enum=Helm;Kustomize;GoTemplate;Function
type GeneratorName string

// Source is where the files come from; exactly one of its fields is set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.inline), has(self.configMap), has(self.http)].filter(x, x).size() == 1",message="exactly one of inline, configMap and http must be set"
type Source struct {
	// Inline holds the files themselves.
	// +optional
	Inline *InlineSource `json:"inline,omitempty"`

	// ConfigMap of the component's namespace that holds the files.
	// +optional
	ConfigMap *ConfigMapSource `json:"configMap,omitempty"`

	// HTTP says where an archive is outside the cluster. The operator fetches it, so it must be able to reach the
	// server.
	// +optional
	HTTP *HTTPSource `json:"http,omitempty"`
}

// InlineSource holds files.
type InlineSource struct {
	// Files maps relative paths to contents.
	// +kubebuilder:validation:MinProperties=1
	Files map[string]string `json:"files"`
}

// ConfigMapSource names a ConfigMap: either a file per key, or one key that ends in .tgz and holds an archive.
type ConfigMapSource struct {
	// Name of the ConfigMap.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// HTTPSource is an archive behind a URL.
type HTTPSource struct {
	// URL of a .tgz archive. It holds no credentials; the server must give the archive to everybody who can reach it.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^https?://[^/?#@]+([/?#].*)?$')",message="want an http or https URL without user and password, such as https://example.com/chart-1.2.3.tgz"
	URL string `json:"url"`
	// SHA256 is the archive's digest, as sha256sum prints it. What has another one is not used.
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9a-f]{64}$')",message="want 64 hexadecimal digits in lower case, as sha256sum prints them"
	SHA256 string `json:"sha256"`
}

// KubeConfig refers to the kubeconfig of another cluster.
type KubeConfig struct {
	// SecretRef names the Secret of the component's namespace that holds it.
	SecretRef SecretKeyReference `json:"secretRef"`
}

// SecretKeyReference names a key in a Secret.
type SecretKeyReference struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Key in the Secret; value by default.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}
