package function

import (
	stdjson "encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// API version and kind of a ResourceList in the specification.
const (
	listAPIVersion = "config.kubernetes.io/v1"
	listKind       = "ResourceList"
)

// Annotation of objects that are only input of a function.
const localConfig = "config.kubernetes.io/local-config"

// maxAliasBytes limits the expansion of aliases in a YAML response.
const maxAliasBytes = 8 << 20

// resourceList is the body of requests and responses.
type resourceList struct {
	APIVersion     string           `json:"apiVersion"`
	Kind           string           `json:"kind"`
	FunctionConfig *functionConfig  `json:"functionConfig,omitempty"`
	Items          []map[string]any `json:"items"`
	Results        []result         `json:"results,omitempty"`
}

// severity is a severity of the specification. An empty one means information.
type severity string

const (
	severityError   severity = "error"
	severityWarning severity = "warning"
	severityInfo    severity = "info"
)

type result struct {
	Message     string       `json:"message"`
	Severity    severity     `json:"severity,omitempty"`
	ResourceRef *resourceRef `json:"resourceRef,omitempty"`
	Field       *resultField `json:"field,omitempty"`
	File        *resultFile  `json:"file,omitempty"`
}

type resourceRef struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Name       string `json:"name,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
}

// resultField omits the values of the specification, which may be secret.
type resultField struct {
	Path string `json:"path,omitempty"`
}

type resultFile struct {
	Path string `json:"path,omitempty"`
}

// decodeList decodes a ResourceList, JSON or YAML. Errors do not quote it, because it is not trusted.
func decodeList(text []byte) (*resourceList, error) {
	if !stdjson.Valid(text) {
		if err := manifests.CheckAliases(text, maxAliasBytes); err != nil {
			return nil, err
		}
		asJSON, err := yaml.YAMLToJSON(text)
		if err != nil {
			return nil, errors.New("it is neither JSON nor YAML")
		}
		text = asJSON
	}
	var list resourceList
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("it is no %s: %w", listKind, err)
	}
	if list.APIVersion != listAPIVersion || list.Kind != listKind {
		return nil, fmt.Errorf("it is no %s of %s", listKind, listAPIVersion)
	}
	return &list, nil
}
