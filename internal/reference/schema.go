package reference

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// Schema returns the schema of the only version of a CustomResourceDefinition.
func Schema(path string) (*apiextensionsv1.JSONSchemaProps, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(content, &definition); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(definition.Spec.Versions) != 1 || definition.Spec.Versions[0].Schema == nil {
		return nil, fmt.Errorf("%s: want one version with a schema", path)
	}
	return definition.Spec.Versions[0].Schema.OpenAPIV3Schema, nil
}

// Fields returns a row for each field of a schema, with path, type and meaning. The meaning states whether the field is
// required.
func Fields(schema *apiextensionsv1.JSONSchemaProps, path string) [][]string {
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		field := schema.Properties[name]
		at := path + name
		meaning := Prose(field.Description)
		if slices.Contains(schema.Required, name) {
			meaning = strings.TrimSpace("Required. " + meaning)
		}
		rows = append(rows, []string{Code(at), typeOf(&field), meaning})
		rows = append(rows, below(&field, at)...)
	}
	return rows
}

// below returns the rows for the fields of an object, or for the fields of the elements of a list or map.
func below(field *apiextensionsv1.JSONSchemaProps, at string) [][]string {
	switch {
	case field.Items != nil && field.Items.Schema != nil:
		return Fields(field.Items.Schema, at+"[].")
	case field.AdditionalProperties != nil && field.AdditionalProperties.Schema != nil:
		return Fields(field.AdditionalProperties.Schema, at+".*.")
	}
	return Fields(field, at+".")
}

func typeOf(field *apiextensionsv1.JSONSchemaProps) string {
	switch {
	case len(field.Enum) > 0:
		values := make([]string, 0, len(field.Enum))
		for _, value := range field.Enum {
			values = append(values, Code(strings.Trim(string(value.Raw), `"`)))
		}
		return strings.Join(values, ", ")
	case field.Items != nil && field.Items.Schema != nil:
		return "list of " + typeOf(field.Items.Schema)
	case field.AdditionalProperties != nil && field.AdditionalProperties.Schema != nil:
		return "map of " + typeOf(field.AdditionalProperties.Schema)
	case field.Type == "":
		return "any"
	}
	return field.Type
}
