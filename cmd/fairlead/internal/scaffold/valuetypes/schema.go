package valuetypes

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// schema contains the parts of a JSON schema from which types are derived.
//
// The compiled schema of jsonschema/v6 is not used, for two reasons. The compiler rejects parts that are not needed
// here, such as references to other documents and patterns that Go cannot parse. It also normalises numbers, while
// markers need the original text of numbers.
type schema struct {
	Ref                  string             `json:"$ref"`
	Type                 typeNames          `json:"type"`
	Description          string             `json:"description"`
	Title                string             `json:"title"`
	Default              json.RawMessage    `json:"default"`
	Examples             []json.RawMessage  `json:"examples"`
	Enum                 []json.RawMessage  `json:"enum"`
	Const                json.RawMessage    `json:"const"`
	Properties           map[string]*schema `json:"properties"`
	AdditionalProperties *schemaOrBool      `json:"additionalProperties"`
	PatternProperties    map[string]*schema `json:"patternProperties"`
	Items                *schemaOrList      `json:"items"`
	Required             []string           `json:"required"`
	AnyOf                []*schema          `json:"anyOf"`
	OneOf                []*schema          `json:"oneOf"`
	AllOf                []*schema          `json:"allOf"`
	Minimum              *json.Number       `json:"minimum"`
	Maximum              *json.Number       `json:"maximum"`
	ExclusiveMinimum     json.RawMessage    `json:"exclusiveMinimum"`
	ExclusiveMaximum     json.RawMessage    `json:"exclusiveMaximum"`
	MultipleOf           *json.Number       `json:"multipleOf"`
	MinLength            *json.Number       `json:"minLength"`
	MaxLength            *json.Number       `json:"maxLength"`
	Pattern              string             `json:"pattern"`
	Format               string             `json:"format"`
	MinItems             *json.Number       `json:"minItems"`
	MaxItems             *json.Number       `json:"maxItems"`
	UniqueItems          bool               `json:"uniqueItems"`
	MaxProperties        *json.Number       `json:"maxProperties"`
	Definitions          map[string]*schema `json:"definitions"`
	Defs                 map[string]*schema `json:"$defs"`
}

// typeNames is a list of types.
type typeNames []string

// UnmarshalJSON reads a name or a list of names.
func (t *typeNames) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*t = typeNames{one}
		return nil
	}
	var several []string
	if err := json.Unmarshal(text, &several); err != nil {
		return fmt.Errorf("type: want a name or a list of names, got %s", text)
	}
	*t = several
	return nil
}

// schemaOrBool is a schema or a boolean. The boolean true allows every value, and false allows no value.
type schemaOrBool struct {
	allowed bool
	schema  *schema
}

// UnmarshalJSON reads true, false or a schema.
func (s *schemaOrBool) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &s.allowed) == nil {
		return nil
	}
	s.allowed = true
	return json.Unmarshal(text, &s.schema)
}

// schemaOrList is the schema of all elements. Schemas of single elements are ignored.
type schemaOrList struct{ schema *schema }

// UnmarshalJSON reads a schema, and ignores other values.
func (s *schemaOrList) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] != '{' {
		return nil
	}
	return json.Unmarshal(text, &s.schema)
}

// parseSchema parses a values.schema.json. It returns nil for an empty text.
func parseSchema(text []byte) (*schema, error) {
	if len(text) == 0 {
		return nil, nil
	}
	root := &schema{}
	// A property may be true, which allows everything, or false.
	if err := json.Unmarshal(text, root); err != nil {
		return nil, fmt.Errorf("values.schema.json: %w", err)
	}
	return root, nil
}

// UnmarshalJSON reads a schema. True and false are schemas, too.
func (s *schema) UnmarshalJSON(text []byte) error {
	var boolean bool
	if json.Unmarshal(text, &boolean) == nil {
		return nil
	}
	type plain schema
	return json.Unmarshal(text, (*plain)(s))
}

// maxRefs is the maximum length of a chain of references.
const maxRefs = 16

// resolve follows the references of a schema within the document. It returns nil for an empty schema, and for
// references to other documents.
func (s *schema) resolve(root *schema) *schema {
	for range maxRefs {
		if s == nil || s.Ref == "" {
			return s
		}
		s = root.at(s.Ref)
	}
	return nil
}

// at returns the schema at a reference within the document.
func (s *schema) at(ref string) *schema {
	if name, ok := strings.CutPrefix(ref, "#/definitions/"); ok {
		return s.Definitions[name]
	}
	if name, ok := strings.CutPrefix(ref, "#/$defs/"); ok {
		return s.Defs[name]
	}
	if ref == "#" {
		return s
	}
	return nil
}

// types returns the types that the schema allows, except for null. It returns no types if the schema does not restrict
// them.
func (s *schema) types(root *schema) []string {
	var found []string
	add := func(names ...string) {
		for _, name := range names {
			if name != "null" && !slices.Contains(found, name) {
				found = append(found, name)
			}
		}
	}
	add(s.Type...)
	if len(found) > 0 {
		return found
	}
	for _, alternative := range slices.Concat(s.AnyOf, s.OneOf) {
		resolved := alternative.resolve(root)
		if resolved == nil || len(resolved.Type) == 0 {
			return nil
		}
		add(resolved.Type...)
	}
	if len(found) == 0 {
		add(s.impliedTypes()...)
	}
	return found
}

// impliedTypes returns the types that other keywords of the schema imply, such as object for properties.
func (s *schema) impliedTypes() []string {
	switch {
	case s.Properties != nil:
		return []string{"object"}
	case s.Items != nil:
		return []string{"array"}
	}
	var found []string
	for _, text := range append(slices.Clone(s.Enum), s.Const) {
		if name := jsonType(text); len(text) > 0 && name != "null" && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	return found
}

// nullable reports whether null is allowed.
func (s *schema) nullable(root *schema) bool {
	if slices.Contains(s.Type, "null") {
		return true
	}
	return slices.ContainsFunc(slices.Concat(s.AnyOf, s.OneOf), func(alternative *schema) bool {
		resolved := alternative.resolve(root)
		return resolved != nil && slices.Equal(resolved.Type, typeNames{"null"})
	})
}

// jsonType returns the type of a value.
func jsonType(text json.RawMessage) string {
	var value any
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return ""
	}
	switch v := value.(type) {
	case string:
		return "string"
	case bool:
		return "boolean"
	case json.Number:
		if _, err := v.Int64(); err == nil {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "null"
}
