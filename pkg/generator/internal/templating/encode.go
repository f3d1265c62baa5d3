package templating

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"text/template"

	"github.com/BurntSushi/toml"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/bounded"
)

// parsedCost is the cost of parsing one byte of text. It is larger than one, because maps and lists take more memory
// than their text form.
const parsedCost = 4

// encodings are the template functions that convert values to and from YAML, JSON and TOML.
type encodings struct{ in *Input }

// functions returns the template functions that convert values to and from YAML, JSON and TOML. They return an error if
// a value cannot be converted. The functions whose names begin with must are the same functions; they exist because
// templates for sprig use these names.
func (e encodings) functions() template.FuncMap {
	functions := template.FuncMap{
		"fromYamlArray": e.array(e.fromYAML),
		"fromJsonArray": e.array(e.fromJSON),
		"fromYaml":      e.fromYAML,
		"fromJson":      e.fromJSON,
		"fromToml":      e.fromTOML,
		"toYaml":        e.encoder(toYAML),
		"toJson":        e.encoder(toJSON),
		"toPrettyJson":  e.encoder(toPrettyJSON),
		"toRawJson":     e.encoder(toRawJSON),
		"toToml":        e.encoder(toTOML),
	}
	for name, function := range maps.Clone(functions) {
		functions["must"+strings.ToUpper(name[:1])+name[1:]] = function
	}
	return functions
}

// encoder returns a function that charges the size of a value to the budget and then encodes it.
func (e encodings) encoder(encode func(any) (string, error)) any {
	return func(value any) (string, error) {
		if err := e.in.Budget.spendWritten(value); err != nil {
			return "", err
		}
		return encode(value)
	}
}

// toYAML encodes a value as YAML, without a line break at the end.
func toYAML(value any) (string, error) {
	text, err := yaml.Marshal(value)
	return strings.TrimSuffix(string(text), "\n"), err
}

func toJSON(value any) (string, error) {
	text, err := json.Marshal(value)
	return string(text), err
}

func toPrettyJSON(value any) (string, error) {
	text, err := json.MarshalIndent(value, "", "  ")
	return string(text), err
}

// toRawJSON encodes a value as JSON, without escaping <, > and &.
func toRawJSON(value any) (string, error) {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return strings.TrimSuffix(text.String(), "\n"), err
}

func toTOML(value any) (string, error) {
	if _, ok := value.(map[string]any); !ok {
		return "", fmt.Errorf("a TOML document must be a map, not a %T", value)
	}
	var text bytes.Buffer
	err := toml.NewEncoder(&text).Encode(value)
	return strings.TrimSuffix(text.String(), "\n"), err
}

func (e encodings) fromYAML(text string) (any, error) {
	if err := e.spendParsed(text, e.yamlWithin); err != nil {
		return nil, err
	}
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	return e.fromJSON(string(asJSON))
}

// nodeCost is the cost of a character that begins a map, a list or a value in a parsed text.
const nodeCost = 16

// spendParsed charges a text that is about to be decoded, and checks it with within.
func (e encodings) spendParsed(text string, within func([]byte) error) error {
	if err := e.in.Budget.spendProduct(parsedCost, len(text)); err != nil {
		return err
	}
	nodes := strings.Count(text, ",") + strings.Count(text, "[") + strings.Count(text, "{") + strings.Count(text, ": ")
	if err := e.in.Budget.spendProduct(nodes, nodeCost); err != nil {
		return err
	}
	if err := within([]byte(text)); err != nil {
		return &limitError{err.Error()}
	}
	return nil
}

func (e encodings) yamlWithin(text []byte) error {
	return bounded.YAML(text, bounded.Limits{AliasBytes: e.in.Budget.limits.AliasBytes})
}

func jsonWithin(text []byte) error {
	_, err := bounded.JSON(text, bounded.Limits{})
	return err
}

func tomlWithin(text []byte) error { return bounded.TOML(text, bounded.Limits{}) }

// fromJSON decodes whole numbers as int64, like the parameters of a component.
func (e encodings) fromJSON(text string) (any, error) {
	if err := e.spendParsed(text, jsonWithin); err != nil {
		return nil, err
	}
	var value any
	return value, utiljson.Unmarshal([]byte(text), &value)
}

func (e encodings) fromTOML(text string) (map[string]any, error) {
	if err := e.spendParsed(text, tomlWithin); err != nil {
		return nil, err
	}
	value := map[string]any{}
	_, err := toml.Decode(text, &value)
	return value, err
}

// array returns a function that decodes a text and returns an error if the result is not a list.
func (e encodings) array(decode func(string) (any, error)) func(string) ([]any, error) {
	return func(text string) ([]any, error) {
		value, err := decode(text)
		if err != nil || value == nil {
			return nil, err
		}
		list, ok := value.([]any)
		if !ok {
			return nil, fmt.Errorf("want a list, not a %T", value)
		}
		return list, nil
	}
}
