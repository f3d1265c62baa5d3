package docs

import (
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// CheckData parses a block of JSON, or each document of a block of YAML.
func CheckData(b Block) error {
	if b.Language == "json" {
		var value any
		return json.Unmarshal([]byte(b.Text), &value)
	}
	for document := range strings.SplitSeq("\n"+b.Text, "\n---") {
		var value any
		if err := yaml.UnmarshalStrict([]byte(document), &value); err != nil {
			return err
		}
	}
	return nil
}

// Complete completes a part of a Component to a whole Component. It adds type, name and source if they are missing.
func Complete(part string) (string, error) {
	component := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(part), &component); err != nil {
		return "", err
	}
	fill(component, "apiVersion", "fairlead.io/v1alpha1")
	fill(component, "kind", "Component")
	fill(component, "metadata", map[string]any{})
	fill(component, "spec", map[string]any{})
	metadata, ok := component["metadata"].(map[string]any)
	spec, valid := component["spec"].(map[string]any)
	if !ok || !valid {
		return "", fmt.Errorf("metadata and spec must be maps")
	}
	fill(metadata, "name", "example")
	if _, function := spec["function"]; !function {
		fill(spec, "source", map[string]any{"inline": map[string]any{"files": map[string]any{"empty.yaml": ""}}})
	}
	complete, err := yaml.Marshal(component)
	return string(complete), err
}

func fill(object map[string]any, key string, value any) {
	if _, found := object[key]; !found {
		object[key] = value
	}
}
