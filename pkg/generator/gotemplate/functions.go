package gotemplate

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// pureFunctions returns the functions that do not depend on the request.
func pureFunctions() template.FuncMap {
	functions := sprig.TxtFuncMap()
	// They read from the machine and the network of the operator.
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(functions, name)
	}
	functions["required"] = required
	functions["toYaml"] = toYAML
	functions["fromYaml"] = fromYAML
	functions["toJson"] = toJSON
	functions["fromJson"] = fromJSON
	return functions
}

func required(message string, value any) (any, error) {
	if value == nil || value == "" {
		return nil, errors.New(message)
	}
	return value, nil
}

// toYAML has no line break at the end, so that the template decides.
func toYAML(value any) (string, error) {
	text, err := yaml.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("toYaml: %w", err)
	}
	return strings.TrimSuffix(string(text), "\n"), nil
}

func fromYAML(text string) (any, error) {
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("fromYaml: %w", err)
	}
	return fromJSON(string(asJSON))
}

func toJSON(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("toJson: %w", err)
	}
	return string(text), nil
}

// fromJSON keeps whole numbers whole, as the parameters have them.
func fromJSON(text string) (any, error) {
	var value any
	if err := utiljson.Unmarshal([]byte(text), &value); err != nil {
		return nil, fmt.Errorf("fromJson: %w", err)
	}
	return value, nil
}
