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

// ValuesReference points at a document of values in a Secret or ConfigMap of the component's namespace.
type ValuesReference struct {
	// Kind is Secret or ConfigMap.
	Kind ReferenceKind `json:"kind"`
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// ValuesKey is the key that holds the values, as YAML; values.yaml by default.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ValuesKey string `json:"valuesKey,omitempty"`
	// Optional says that a missing object or key is no error.
	// +optional
	Optional bool `json:"optional,omitempty"`
}

// Reference names a Secret or ConfigMap in the component's namespace.
type Reference struct {
	// Kind is Secret or ConfigMap.
	Kind ReferenceKind `json:"kind"`
	// Name of the object.
	Name string `json:"name"`
	// Optional says that a missing object is no error.
	Optional bool `json:"optional,omitempty"`
	// Credential says that the content gives access to something, and does not matter to what is rendered: a change of
	// it wakes the component, but makes no revision, and renders nothing again that was rendered well.
	Credential bool `json:"credential,omitempty"`
}

// DefaultKubeConfigKey is the key that holds a kubeconfig where a reference names none.
const DefaultKubeConfigKey = "value"

// KubeConfigReference points at a kubeconfig in a Secret of the component's namespace.
type KubeConfigReference struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Key in the Secret; value by default.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// SourceReference names a source outside the cluster, pinned to its content.
type SourceReference struct {
	// URL of a .tgz archive.
	URL string `json:"url"`
	// SHA256 is the archive's digest: 64 hexadecimal digits in lower case.
	SHA256 string `json:"sha256"`
}

// sha256Digits is what a digest looks like.
var sha256Digits = regexp.MustCompile(`^[0-9a-f]{64}$`)

// Validate says what is wrong with a reference, all at once. A URL with a password is refused: whoever may read the
// component would read the password.
func (s SourceReference) Validate() error {
	var errs []error
	switch location, err := url.Parse(s.URL); {
	case err != nil:
		errs = append(errs, errors.New("url: want one such as https://example.com/chart-1.2.3.tgz"))
	case location.Scheme == "" || location.Host == "":
		errs = append(errs, fmt.Errorf("url %q: want one such as https://example.com/chart-1.2.3.tgz", s.Location()))
	case location.User != nil:
		errs = append(errs, fmt.Errorf(
			"url %q: it holds credentials, which everybody could read who may read the component; remove them", s.Location()))
	}
	if !sha256Digits.MatchString(s.SHA256) {
		errs = append(errs, fmt.Errorf(
			"sha256 %q: want 64 hexadecimal digits in lower case, as sha256sum prints them", s.SHA256))
	}
	return errors.Join(errs...)
}

// Location returns the URL for people: without what may be a credential in its query.
func (s SourceReference) Location() string {
	location, err := url.Parse(s.URL)
	if err != nil {
		return "a URL that cannot be read"
	}
	location.User, location.RawQuery, location.Fragment = nil, "", ""
	return location.String()
}
