package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// Component is a set of objects that belong together. The objects are rendered from a source and applied in order.
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

// ComponentSpec contains the source, the values, and settings for the apply of the rendered objects. The settings are
// the parts that authors embed in their own types. The schema restricts the range of durations, because a duration that
// clients cannot decode would break every watch on components.
//
// +kubebuilder:validation:XValidation:rule="(has(self.generator) && self.generator == 'Function') == has(self.function)",message="set either both generator: Function and function, or neither"
// +kubebuilder:validation:XValidation:rule="has(self.source) != has(self.function)",message="set either source, or generator: Function with function"
// +kubebuilder:validation:XValidation:rule="!has(self.function) || !has(self.path)",message="path selects a folder in the source, but a component with a function has no source"
// +kubebuilder:validation:XValidation:rule="!has(self.helm) || !has(self.generator) || self.generator == 'Helm'",message="helm is for charts: generator must be Helm or unset"
// +kubebuilder:validation:XValidation:rule="!has(self.webhook) || has(self.externals) || (has(self.inputs) && self.inputs.exists(i, has(i.poll)))",message="webhook has an effect only with an input that is polled, or with externals: a call carries no value, it makes the operator ask the polled addresses and the services at once"
type ComponentSpec struct {
	// Source contains the chart, kustomization or templates. It is not set for a function.
	// +optional
	Source Source `json:"source,omitempty,omitzero"`

	// Path is the folder inside the source that is rendered. The default is the root. If the only entry of the root is a
	// folder with a Chart.yaml or a kustomization.yaml, as in a packed chart, the default is this folder. A dot always
	// means the root.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path,omitempty"`

	// Generator is the generator that renders the source. By default it is detected: Helm if the folder contains a
	// Chart.yaml, Kustomize if it contains a kustomization.yaml, and GoTemplate otherwise. Function calls your own
	// service.
	// +optional
	Generator GeneratorName `json:"generator,omitempty"`

	// Helm has options for the rendering of a chart. It can be set only for charts.
	// +optional
	Helm *HelmOptions `json:"helm,omitempty"`

	// Function is the service that renders the objects. It must be set if Generator is Function.
	// +optional
	Function *FunctionGenerator `json:"function,omitempty"`

	// Externals are the kinds of dependents outside Kubernetes, with the services that handle them. A kind must stay here
	// while dependents of this kind exist. A change makes no new revision.
	// +optional
	// +listType=map
	// +listMapKey=kind
	// +kubebuilder:validation:MaxItems=16
	Externals []External `json:"externals,omitempty"`

	// The part has targetNamespace and targetName. A chart gets the name as the release name.
	metav1alpha1.PlacementSpec `json:",inline"`

	// Values are the parameters of the rendering. They override values from ValuesFrom.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Values *runtime.RawExtension `json:"values,omitempty"`

	// ValuesFrom lists Secrets, ConfigMaps, and exports of other components, in the component's namespace, from which
	// values are read. Later entries override earlier entries.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	ValuesFrom []metav1alpha1.ValuesReference `json:"valuesFrom,omitempty"`

	// Inputs are objects and addresses whose content is among the values of the rendering. The component is rendered again
	// when one of them changes.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Inputs []Input `json:"inputs,omitempty"`

	// Webhook permits signed calls that make the operator ask for the polled inputs and observe the externals at once.
	// There must be an input that is polled, or a kind of externals. The operator accepts calls only if its administrator
	// has turned them on.
	// +optional
	Webhook *Webhook `json:"webhook,omitempty"`

	metav1alpha1.ExportsSpec    `json:",inline"`
	metav1alpha1.DependencySpec `json:",inline"`
	metav1alpha1.ConsentSpec    `json:",inline"`

	// PostRenderers change the rendered objects, one after the other.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	PostRenderers []PostRenderer `json:"postRenderers,omitempty"`

	metav1alpha1.ServiceAccountSpec `json:",inline"`
	metav1alpha1.KubeConfigSpec     `json:",inline"`
	metav1alpha1.PoliciesSpec       `json:",inline"`
	metav1alpha1.IgnoreSpec         `json:",inline"`
	metav1alpha1.AdoptSpec          `json:",inline"`
	metav1alpha1.ManagedTypesSpec   `json:",inline"`
	metav1alpha1.EmptySpec          `json:",inline"`
	metav1alpha1.SuspendSpec        `json:",inline"`
	metav1alpha1.ResyncSpec         `json:",inline"`
	metav1alpha1.RetrySpec          `json:",inline"`
	metav1alpha1.TimeoutSpec        `json:",inline"`
}

// HelmOptions are options for the rendering of a chart.
type HelmOptions struct {
	// SkipCRDs omits the objects in the crds folders of the chart and its sub-charts, like helm install --skip-crds. If
	// several components install the same chart in a cluster, set SkipCRDs for all of them except one.
	// CustomResourceDefinitions that the component applied before are pruned, unless they have foreign instances.
	// +optional
	SkipCRDs bool `json:"skipCRDs,omitempty"`

	// SkipSchema renders the chart without the validation of values by the files values.schema.json of the chart and its
	// sub-charts, like helm install --skip-schema-validation. A schema that refers to a URL or to another file needs it,
	// because these are not read.
	// +optional
	SkipSchema bool `json:"skipSchema,omitempty"`

	// HookTimeout is the time in which each hook of the chart must be ready, like helm install --timeout. A hook that is
	// not ready after this time has failed. A hook with the annotation fairlead.io/timeout has its own timeout. The
	// default is 0: no hook has a timeout.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('0s')",message="want a duration of at most 290 years, such as 10m or 1h30m"
	HookTimeout *metav1.Duration `json:"hookTimeout,omitempty"`

	// Sequencing reads the annotations helm.sh/resource-group and helm.sh/depends-on/resource-groups of the chart as
	// dependencies between objects. By default they have no effect.
	// +optional
	Sequencing bool `json:"sequencing,omitempty"`
}

// GeneratorName is the name of a generator.
// +kubebuilder:validation:Enum=Helm;Kustomize;GoTemplate;Function
type GeneratorName string

// Source contains or names the files to render. Exactly one of its fields is set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.inline), has(self.configMap), has(self.configMaps), has(self.http)].filter(x, x).size() == 1",message="exactly one of inline, configMap, configMaps and http must be set"
type Source struct {
	// Inline contains the files in the spec.
	// +optional
	Inline *InlineSource `json:"inline,omitempty"`

	// ConfigMap names a ConfigMap in the component's namespace that contains the files.
	// +optional
	ConfigMap *ConfigMapSource `json:"configMap,omitempty"`

	// ConfigMaps names several ConfigMaps in the component's namespace that contain the parts of an archive, which is too
	// large for one of them.
	// +optional
	ConfigMaps *ConfigMapsSource `json:"configMaps,omitempty"`

	// HTTP is the URL and digest of an archive outside the cluster. The operator fetches the archive, so it must be able
	// to reach the server.
	// +optional
	HTTP *HTTPSource `json:"http,omitempty"`
}

// InlineSource contains files in the spec.
type InlineSource struct {
	// Files maps relative paths to contents.
	// +kubebuilder:validation:MinProperties=1
	Files map[string]string `json:"files"`
}

// ConfigMapSource names a ConfigMap with files. Either each key is a file, or a single key whose name ends in .tgz
// contains an archive.
type ConfigMapSource struct {
	// Name of the ConfigMap.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// ConfigMapsSource names ConfigMaps with the parts of a .tgz archive. Each ConfigMap contains a single key, with one
// part.
type ConfigMapsSource struct {
	// Names of the ConfigMaps, in the order of the parts.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Names []string `json:"names"`
	// SHA256 is the digest of the archive, as sha256sum prints it. Nothing is rendered if the joined parts have another
	// digest.
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9a-f]{64}$')",message="want 64 hexadecimal digits in lower case, as sha256sum prints them"
	SHA256 string `json:"sha256"`
}

// HTTPSource is an archive on an HTTP server.
type HTTPSource struct {
	// URL is the address of a .tgz archive. It must not contain credentials. The server must deliver the archive without
	// authentication.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^https?://[^/?#@]+([/?#].*)?$')",message="want an http or https URL without user and password, such as https://example.com/chart-1.2.3.tgz"
	URL string `json:"url"`
	// SHA256 is the SHA-256 digest of the archive in the form of sha256sum. An archive with another digest is rejected.
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9a-f]{64}$')",message="want 64 hexadecimal digits in lower case, as sha256sum prints them"
	SHA256 string `json:"sha256"`
}

// SecretKeyReference names a key in a Secret.
type SecretKeyReference struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Key in the Secret. The default is value.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}
