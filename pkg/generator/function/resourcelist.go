package function

import (
	stdjson "encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/bounded"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// API version and kind of a ResourceList in the specification.
const (
	listAPIVersion = "config.kubernetes.io/v1"
	listKind       = "ResourceList"
)

// localConfig is an annotation of objects that are only input of a function. They are not applied.
const localConfig = "config.kubernetes.io/local-config"

// maxAliasBytes limits the expansion of aliases in a YAML response.
const maxAliasBytes = 8 << 20

// maxNodes limits the maps, lists, values and keys of a response. It is the limit of a rendering, because a response
// contains all objects of a rendering.
const maxNodes = generator.DefaultMaxNodes

// resourceList is the body of requests and responses.
type resourceList struct {
	APIVersion     string           `json:"apiVersion"`
	Kind           string           `json:"kind"`
	FunctionConfig *functionConfig  `json:"functionConfig,omitempty"`
	Items          []map[string]any `json:"items"`
	Results        []result         `json:"results,omitempty"`
}

// severity is a severity of the specification. The empty string means information.
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

// resultField is a field reference in a result. The specification also has the current and the proposed value of the
// field; they are omitted, because they may be secret.
type resultField struct {
	Path string `json:"path,omitempty"`
}

type resultFile struct {
	Path string `json:"path,omitempty"`
}

// decodeList decodes a ResourceList in JSON or YAML. Errors do not quote the text, because it comes from an untrusted
// service.
func decodeList(text []byte) (*resourceList, error) {
	if err := bounded.YAML(text, bounded.Limits{Nodes: maxNodes, AliasBytes: maxAliasBytes}); err != nil {
		return nil, err
	}
	if !stdjson.Valid(text) {
		asJSON, err := yaml.YAMLToJSON(text)
		if err != nil {
			return nil, errors.New("the body is neither JSON nor YAML")
		}
		text = asJSON
	}
	var list resourceList
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("the body is not a %s: %w", listKind, err)
	}
	if list.APIVersion != listAPIVersion || list.Kind != listKind {
		return nil, fmt.Errorf("the body is not a %s of %s", listKind, listAPIVersion)
	}
	return &list, nil
}
