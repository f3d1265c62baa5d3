package validate

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fairlead-io/fairlead/internal/validate/values"
)

// Definition returns the schema of a version of the kind that a CustomResourceDefinition defines. It is nil if the
// definition has no schema for the version, so that every object is accepted.
func Definition(body *unstructured.Unstructured, version string) (managedfields.TypeConverter, error) {
	text := func(fields ...string) string {
		value, _, _ := unstructured.NestedString(body.Object, fields...)
		return value
	}
	gvk := schema.GroupVersionKind{Group: text("spec", "group"), Version: version, Kind: text("spec", "names", "kind")}
	root := schemaOf(body, version)
	if root == nil {
		return nil, nil
	}
	data, err := json.Marshal(root)
	if err != nil {
		return nil, err
	}
	model := &spec.Schema{}
	if err := json.Unmarshal(data, model); err != nil {
		return nil, fmt.Errorf("the schema of %s: %w", gvk, err)
	}
	addObjectFields(model)
	addEmbedded(model)
	model.AddExtension("x-kubernetes-group-version-kind", []any{
		map[string]any{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind},
	})
	preserves, _, _ := unstructured.NestedBool(body.Object, "spec", "preserveUnknownFields")
	return managedfields.NewTypeConverter(map[string]*spec.Schema{gvk.Kind: model}, preserves)
}

// DefinitionValues returns the check of the values of a version of the kind that a CustomResourceDefinition defines. It
// is nil if the definition has no schema for the version.
func DefinitionValues(body *unstructured.Unstructured, version string) (*values.Type, error) {
	root := schemaOf(body, version)
	if root == nil {
		return nil, nil
	}
	return values.Defined(root)
}

// Serves reports whether a CustomResourceDefinition serves a version. A definition without any version is invalid
// itself, and says nothing about its instances.
func Serves(definition *unstructured.Unstructured, version string) bool {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	served, _, _ := unstructured.NestedBool(versionOf(definition, version), "served")
	return served || len(versions) == 0
}

// schemaOf returns the schema of a version in a CustomResourceDefinition; nil if it has none.
func schemaOf(body *unstructured.Unstructured, version string) map[string]any {
	root, _, _ := unstructured.NestedMap(versionOf(body, version), "schema", "openAPIV3Schema")
	return root
}

// versionOf returns a version in a CustomResourceDefinition; nil if it is not there.
func versionOf(body *unstructured.Unstructured, version string) map[string]any {
	versions, _, _ := unstructured.NestedSlice(body.Object, "spec", "versions")
	for _, item := range versions {
		if v, ok := item.(map[string]any); ok && v["name"] == version {
			return v
		}
	}
	return nil
}

// addObjectFields adds the fields that every object has, and that a schema need not list.
func addObjectFields(s *spec.Schema) {
	if s.Properties == nil {
		s.Properties = map[string]spec.Schema{}
	}
	s.Properties["apiVersion"] = *spec.StringProperty()
	s.Properties["kind"] = *spec.StringProperty()
	metadata := spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}}
	// The API server checks metadata in the same way for all types; see checkMetadata.
	metadata.AddExtension("x-kubernetes-preserve-unknown-fields", true)
	s.Properties["metadata"] = metadata
}

// addEmbedded adds these fields to the objects that are embedded in a schema.
func addEmbedded(s *spec.Schema) {
	for name, property := range s.Properties {
		addEmbeddedIn(&property)
		s.Properties[name] = property
	}
	if s.Items != nil && s.Items.Schema != nil {
		addEmbeddedIn(s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		addEmbeddedIn(s.AdditionalProperties.Schema)
	}
}

func addEmbeddedIn(s *spec.Schema) {
	addEmbedded(s)
	if s.Extensions["x-kubernetes-embedded-resource"] == true {
		addObjectFields(s)
	}
}
