package v1alpha1

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
)

// ReferenceKind is the kind of a referenced object. The type has no enumeration for its schema, because most fields
// with this type accept only some of the kinds.
type ReferenceKind string

// The kinds that can be referenced.
const (
	SecretReference    ReferenceKind = "Secret"
	ConfigMapReference ReferenceKind = "ConfigMap"
	// ComponentReference refers to a published export of another component, see Status.Exports.
	ComponentReference ReferenceKind = "Component"
)

// ValuesReference refers to values in the component's namespace: to a YAML document in a Secret or ConfigMap, or to a
// published export of another component.
//
// +kubebuilder:validation:XValidation:rule="(self.kind == 'Component') == has(self.export)",message="set either kind: Component and export, or neither"
// +kubebuilder:validation:XValidation:rule="self.kind == 'Component' || !has(self.path)",message="path can be set for kind: Component only"
// +kubebuilder:validation:XValidation:rule="self.kind != 'Component' || !has(self.valuesKey)",message="valuesKey is a key of a Secret or ConfigMap; for kind: Component set export and path"
type ValuesReference struct {
	// Kind is Secret, ConfigMap or Component.
	// +kubebuilder:validation:Enum=Secret;ConfigMap;Component
	Kind ReferenceKind `json:"kind"`
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// ValuesKey is the key with the values in YAML. The default is values.yaml.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ValuesKey string `json:"valuesKey,omitempty"`
	// Export is the name of a value in status.exports of the component with Name. While the component has no such value,
	// nothing is rendered, unless the reference is optional.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	Export string `json:"export,omitempty"`
	// Path is the path of the exported value in the values, such as database.host. A backslash precedes a dot in a key.
	// The default is the name of the export.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^([^.\\]|\\[.\\])+(\.([^.\\]|\\[.\\])+)*$`
	Path string `json:"path,omitempty"`
	// Optional means that a missing object, key or export is not an error.
	// +optional
	Optional bool `json:"optional,omitempty"`
}

// Reference returns the Reference to the object.
func (v ValuesReference) Reference() Reference {
	return Reference{Kind: v.Kind, Name: v.Name, Export: v.Export, Optional: v.Optional}
}

// Reference names a Secret, a ConfigMap, or a published export of a component, in the component's namespace.
type Reference struct {
	// Kind is Secret, ConfigMap or Component.
	Kind ReferenceKind `json:"kind"`
	// Type is the type of a referenced component in the form Kind.group, such as Database.example.com. The default is the
	// type of the component that has the reference. Any object with the field status.exports can be referenced. Type must
	// be empty for Secrets and ConfigMaps.
	Type string `json:"type,omitempty"`
	// Name of the object.
	Name string `json:"name"`
	// Export is the name of the published export of a component. It must be empty for Secrets and ConfigMaps. A component
	// may have several references to the same object, with different exports.
	Export string `json:"export,omitempty"`
	// Optional means that a missing object or export is not an error. Without it, a missing Secret or ConfigMap is an
	// error, and the component waits for a missing export.
	Optional bool `json:"optional,omitempty"`
	// Credential means that the content is a credential and not an input of the rendering. A change of the content starts
	// a pass, but makes no new revision. The generator is called again only if the last rendering failed.
	Credential bool `json:"credential,omitempty"`
}

// DefaultKubeConfigKey is the default of KubeConfigReference.Key.
const DefaultKubeConfigKey = "value"

// KubeConfigReference refers to a kubeconfig in a Secret in the component's namespace.
type KubeConfigReference struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Key in the Secret. The default is value.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// SourceReference names an archive outside the cluster by its URL and the digest of its content.
type SourceReference struct {
	// URL of a .tgz archive.
	URL string `json:"url"`
	// SHA256 is the archive's digest: 64 hexadecimal digits in lower case.
	SHA256 string `json:"sha256"`
}

// sha256Digits matches a SHA-256 digest in lower-case hexadecimal digits.
var sha256Digits = regexp.MustCompile(`^[0-9a-f]{64}$`)

// Validate returns the joined errors of a reference. A URL with a password is an error, because everybody with read
// access to the component could read the password.
func (s SourceReference) Validate() error {
	var errs []error
	switch location, err := url.Parse(s.URL); {
	case err != nil:
		errs = append(errs, errors.New("url: want a URL such as https://example.com/chart-1.2.3.tgz"))
	case location.Scheme == "" || location.Host == "":
		errs = append(errs, fmt.Errorf("url %q: want a URL such as https://example.com/chart-1.2.3.tgz", s.Location()))
	case location.User != nil:
		errs = append(errs, fmt.Errorf(
			"url %q: remove the credentials, because everybody who may read the component could read them", s.Location()))
	}
	if !sha256Digits.MatchString(s.SHA256) {
		errs = append(errs, fmt.Errorf(
			"sha256 %q: want 64 hexadecimal digits in lower case, as sha256sum prints them", s.SHA256))
	}
	return errors.Join(errs...)
}

// Location returns the URL without user, query and fragment, which may contain credentials. It is meant for messages.
func (s SourceReference) Location() string {
	location, err := url.Parse(s.URL)
	if err != nil {
		return "a URL that cannot be read"
	}
	location.User, location.RawQuery, location.Fragment = nil, "", ""
	return location.String()
}
