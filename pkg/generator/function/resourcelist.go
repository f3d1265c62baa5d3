package function

import (
	stdjson "encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// What a ResourceList is called by the specification.
const (
	listAPIVersion = "config.kubernetes.io/v1"
	listKind       = "ResourceList"
)

// The annotation of objects that are there for the function alone.
const localConfig = "config.kubernetes.io/local-config"

// maxAliasBytes bounds what the aliases of an answer in YAML stand for.
const maxAliasBytes = 8 << 20

// resourceList is what goes over the wire, both ways.
type resourceList struct {
	APIVersion     string           `json:"apiVersion"`
	Kind           string           `json:"kind"`
	FunctionConfig *functionConfig  `json:"functionConfig,omitempty"`
	Items          []map[string]any `json:"items"`
	Results        []result         `json:"results,omitempty"`
}

// severity is one of the specification's. A result without one is for information.
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

// resultField leaves out the values that the specification has: they could be secret.
type resultField struct {
	Path string `json:"path,omitempty"`
}

type resultFile struct {
	Path string `json:"path,omitempty"`
}

// decodeList reads a ResourceList, JSON or YAML. Errors quote no text of it: it may be from anywhere.
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
