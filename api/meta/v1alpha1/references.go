package v1alpha1

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
)

// ReferenceKind is the kind of a referenced object.
// +kubebuilder:validation:Enum=Secret;ConfigMap
type ReferenceKind string

// The kinds that can be referenced.
const (
	SecretReference    ReferenceKind = "Secret"
	ConfigMapReference ReferenceKind = "ConfigMap"
)

// ValuesReference refers to a YAML document of values in a Secret or ConfigMap in the component's namespace.
type ValuesReference struct {
	// Kind is Secret or ConfigMap.
	Kind ReferenceKind `json:"kind"`
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// ValuesKey is the key with the values in YAML. The default is values.yaml.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ValuesKey string `json:"valuesKey,omitempty"`
	// Optional means that a missing object or key is not an error.
	// +optional
	Optional bool `json:"optional,omitempty"`
}

// Reference names a Secret or ConfigMap in the component's namespace.
type Reference struct {
	// Kind is Secret or ConfigMap.
	Kind ReferenceKind `json:"kind"`
	// Name of the object.
	Name string `json:"name"`
	// Optional means that a missing object is not an error.
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
