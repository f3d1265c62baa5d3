package values

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// optional are the fields that a model calls required, although the API server accepts an object without them.
var optional = map[string][]string{
	"io.k8s.api.core.v1.HTTPHeader":                  {"value"},
	"io.k8s.api.core.v1.ISCSIVolumeSource":           {"lun"},
	"io.k8s.api.core.v1.LimitRangeSpec":              {"limits"},
	"io.k8s.api.core.v1.Sysctl":                      {"value"},
	"io.k8s.api.discovery.v1.EndpointSlice":          {"endpoints"},
	"io.k8s.api.rbac.v1.Role":                        {"rules"},
	"io.k8s.api.rbac.v1.RoleRef":                     {"apiGroup"},
	"io.k8s.api.scheduling.v1.PriorityClass":         {"value"},
	"io.k8s.api.core.v1.ISCSIPersistentVolumeSource": {"lun"},
}

// BuiltIn returns the check of a type of Kubernetes, from the models of its OpenAPI document. It is nil if the type has
// no required field and no enumeration.
func BuiltIn(models map[string]*spec.Schema, root string) *Type {
	c := &constraints{models: models, done: map[string]spec.Schema{}, busy: map[string]bool{}}
	schema, some := c.model(root)
	if !some {
		return nil
	}
	// The API server checks metadata in the same way for all types, and ignores the status.
	delete(schema.Properties, "metadata")
	delete(schema.Properties, "status")
	return &Type{schema: &schema}
}

// constraints reduces models to their required fields and enumerations. A model that many fields have is shared.
type constraints struct {
	models map[string]*spec.Schema
	done   map[string]spec.Schema
	// busy are the models that contain the current one. A model that contains itself is not checked again in it.
	busy map[string]bool
}

// model returns the constraints of a model. some is false if there are none.
func (c *constraints) model(name string) (reduced spec.Schema, some bool) {
	if reduced, known := c.done[name]; known {
		return reduced, isSome(reduced)
	}
	full := c.models[name]
	if full == nil || c.busy[name] {
		return spec.Schema{}, false
	}
	c.busy[name] = true
	defer delete(c.busy, name)
	reduced, _ = c.of(full)
	reduced.Required = slices.DeleteFunc(reduced.Required, func(field string) bool {
		return slices.Contains(optional[name], field)
	})
	c.done[name] = reduced
	return reduced, isSome(reduced)
}

// of returns the constraints of a schema.
func (c *constraints) of(full *spec.Schema) (reduced spec.Schema, some bool) {
	if name, refers := reference(full); refers {
		return c.model(name)
	}
	if len(full.Enum) > 0 {
		// An empty text is the same as no value, which has a default or is a required field.
		reduced.Enum = append(slices.Clone(full.Enum), "")
	}
	for name := range full.Properties {
		property := full.Properties[name]
		inner, some := c.of(&property)
		if some {
			if reduced.Properties == nil {
				reduced.Properties = map[string]spec.Schema{}
			}
			reduced.Properties[name] = inner
		}
		if slices.Contains(full.Required, name) && isRequired(property, inner) {
			reduced.Required = append(reduced.Required, name)
		}
	}
	slices.Sort(reduced.Required)
	if full.Items != nil && full.Items.Schema != nil {
		if inner, some := c.of(full.Items.Schema); some {
			reduced.Items = &spec.SchemaOrArray{Schema: &inner}
		}
	}
	if full.AdditionalProperties != nil && full.AdditionalProperties.Schema != nil {
		if inner, some := c.of(full.AdditionalProperties.Schema); some {
			reduced.AdditionalProperties = &spec.SchemaOrBool{Allows: true, Schema: &inner}
		}
	}
	return reduced, isSome(reduced)
}

func isSome(s spec.Schema) bool {
	return len(s.Enum)+len(s.Required)+len(s.Properties) > 0 || s.Items != nil || s.AdditionalProperties != nil
}

// reference returns the name of the model that a schema refers to. A schema that also has a default or a description
// refers to it in allOf.
func reference(s *spec.Schema) (name string, refers bool) {
	ref := s.Ref.String()
	if len(s.AllOf) == 1 {
		ref = s.AllOf[0].Ref.String()
	}
	return strings.CutPrefix(ref, "#/components/schemas/")
}

// isRequired reports whether an object needs a field that its schema calls required. constraints are those of the
// field. A default that is no zero value fills the field. A default that is one only says that the type in Go is no
// pointer, so a missing struct is the same as an empty one, and a missing boolean is false.
func isRequired(field, constraints spec.Schema) bool {
	if field.Type.Contains("boolean") || field.AdditionalProperties != nil {
		return false
	}
	switch value := field.Default.(type) {
	case nil:
		return true
	case map[string]any:
		return len(value) == 0 && len(constraints.Required) > 0
	default:
		return reflect.ValueOf(value).IsZero()
	}
}

// withoutNull removes null from the maps of an object, which is the same as no value for the types of Kubernetes.
func withoutNull(value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, field := range value {
			if field == nil {
				delete(value, name)
				continue
			}
			withoutNull(field)
		}
	case []any:
		for _, item := range value {
			withoutNull(item)
		}
	}
}
