package valuetypes

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	// maxDepth is the maximum nesting depth of types.
	maxDepth = 16
	// maxValues is the maximum number of values that are analysed. YAML aliases can multiply the values of a short file.
	maxValues = 10_000
)

// deriver derives the types of a chart's values.
type deriver struct {
	root  *schema
	usage usage
	// foreign contains the values of sub-charts and the global values, each with the reason why they have no type.
	foreign map[valuePath]string
	// documented has descriptions that are not in the comment at their value.
	documented map[valuePath]string
	notes      []string
	// derived is the number of analysed values so far.
	derived int
}

func (d *deriver) note(path valuePath, format string, args ...any) {
	d.notes = append(d.notes, path.String()+": "+fmt.Sprintf(format, args...))
}

// subject is a value whose type is derived. Its node in values.yaml and its schema may be nil.
type subject struct {
	path   valuePath
	node   *yaml.Node
	schema *schema
	// above are the schemas that contain the schema of this value.
	above []*schema
}

// below returns the subject of a part of a value.
func (s subject) below(key string) subject {
	part := subject{path: s.path.child(key), above: slices.Clone(s.above)}
	if s.schema != nil {
		part.above = append(part.above, s.schema)
	}
	return part
}

// fallback returns the chart's default as JSON, or an empty text if the chart has no default. Elements of a list have
// no default, because a list of the component replaces the whole list of the chart.
func (s subject) fallback() string {
	if s.path.inElement() {
		return ""
	}
	return fallbackOf(s.node)
}

// derive returns the type of a value.
func (d *deriver) derive(s subject) *valueType {
	s.node, s.schema = plain(s.node), s.schema.resolve(d.root)
	if why, ok := d.foreign[s.path]; ok {
		d.note(s.path, "free-form: %s", why)
		return freeObject()
	}
	if s.schema != nil && slices.Contains(s.above, s.schema) {
		d.note(s.path, "free-form: the schema refers to itself")
		return free()
	}
	if d.derived++; d.derived > maxValues || strings.Count(string(s.path), separator) > maxDepth {
		d.note(s.path, "free-form: it is too large")
		return free()
	}
	t := d.bySchema(s)
	if t == nil {
		t = d.byValue(s)
	}
	d.constrain(t, s)
	return t
}

// bySchema returns the type in the schema, or nil if the schema has no type.
func (d *deriver) bySchema(s subject) *valueType {
	if s.schema == nil {
		return nil
	}
	types := s.schema.types(d.root)
	slices.Sort(types)
	switch strings.Join(types, ",") {
	case "":
		return nil
	case "string":
		return &valueType{shape: shapeString}
	case "boolean":
		return &valueType{shape: shapeBoolean}
	case "integer":
		return &valueType{shape: shapeInteger}
	case "number":
		return &valueType{shape: shapeNumber}
	case "integer,string":
		return &valueType{shape: shapeIntOrString}
	case "array":
		return d.list(s)
	case "object":
		return d.object(s)
	}
	d.note(s.path, "free-form: the schema allows %s", strings.Join(types, " and "))
	return free()
}

// byValue returns the type of the value in values.yaml.
func (d *deriver) byValue(s subject) *valueType {
	if s.node == nil && len(d.usage.keysOf(s.path)) > 0 {
		return d.object(s)
	}
	if s.node == nil {
		if file := d.usage.read[s.path]; file != "" {
			d.note(s.path, "free-form: %s reads it, but values.yaml does not contain it", file)
			return free()
		}
		d.note(s.path, "free-form: its type is unknown")
		return free()
	}
	switch s.node.Kind {
	case yaml.MappingNode:
		return d.object(s)
	case yaml.SequenceNode:
		return d.list(s)
	case yaml.ScalarNode:
		return d.scalar(s)
	case yaml.DocumentNode, yaml.AliasNode:
	}
	return free()
}

// intOrStrings are names of fields for which Kubernetes accepts a number or a string, such as 25%.
var intOrStrings = regexp.MustCompile(`^(maxUnavailable|minAvailable|maxSurge|targetPort)$`)

// versionNames are names of values that are strings although they may look like numbers.
var versionNames = regexp.MustCompile(`(?i)(tag|version)$`)

func (d *deriver) scalar(s subject) *valueType {
	name := s.path.last()
	switch s.node.ShortTag() {
	case "!!bool":
		return &valueType{shape: shapeBoolean}
	case "!!int":
		return d.integer(s)
	case "!!float":
		if versionNames.MatchString(name) {
			d.note(s.path, "free-form: %s is a number, but other values may be texts", s.node.Value)
			return free()
		}
		return &valueType{shape: shapeNumber}
	case "!!null":
		d.note(s.path, "free-form: it is null in values.yaml")
		return free()
	case mixedTag:
		d.note(s.path, "free-form: values.yaml contains several types of it")
		return free()
	}
	if _, whole := d.usage.whole[s.path]; whole && s.node.Value == "" && intOrStrings.MatchString(name) {
		return &valueType{shape: shapeIntOrString}
	}
	return &valueType{shape: shapeString}
}

func (d *deriver) integer(s subject) *valueType {
	name := s.path.last()
	var number int64
	if s.node.Decode(&number) != nil {
		d.note(s.path, "free-form: %s is too large for a number", s.node.Value)
		return free()
	}
	if intOrStrings.MatchString(name) || versionNames.MatchString(name) {
		return &valueType{shape: shapeIntOrString}
	}
	return &valueType{shape: shapeInteger}
}

// list returns a list type, whose element has the common type of all elements.
func (d *deriver) list(s subject) *valueType {
	element := s.below(anyElement)
	if s.schema != nil && s.schema.Items != nil {
		element.schema = s.schema.Items.schema
	}
	if s.node != nil && s.node.Kind == yaml.SequenceNode {
		element.node = merged(s.node.Content)
	}
	if element.node == nil && element.schema == nil {
		d.note(s.path, "its elements are free-form: values.yaml contains no elements")
		return &valueType{shape: shapeList, element: free()}
	}
	if file, whole := d.usage.whole[s.path]; whole && isMapping(element.node) && !closed(element.schema.resolve(d.root)) {
		d.note(s.path, "its elements are free-form: %s uses them as a whole", file)
		return &valueType{shape: shapeList, element: freeObject()}
	}
	return &valueType{shape: shapeList, element: d.derive(element)}
}

func isMapping(node *yaml.Node) bool { return node != nil && node.Kind == yaml.MappingNode }

// closed reports whether a schema allows only its properties.
func closed(s *schema) bool {
	return s != nil && len(s.Properties) > 0 && s.AdditionalProperties != nil && !s.AdditionalProperties.allowed
}

// fallbackOf returns a value in values.yaml as JSON, or an empty text if the value is missing or null.
func fallbackOf(node *yaml.Node) string {
	if node = plain(node); node == nil || node.ShortTag() == "!!null" {
		return ""
	}
	var value any
	if node.Decode(&value) != nil {
		return ""
	}
	if node.Kind == yaml.ScalarNode && node.ShortTag() == "!!timestamp" {
		value = node.Value // Helm reads a timestamp as a text.
	}
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text)
}
