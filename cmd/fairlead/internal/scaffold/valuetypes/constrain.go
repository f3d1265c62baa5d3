package valuetypes

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// formats are the formats that the API server validates.
var formats = []string{
	"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uuid", "cidr",
	"mac",
}

// constrain adds markers for the constraints of the schema.
func (d *deriver) constrain(t *valueType, s subject) {
	if s.schema == nil {
		return
	}
	if s.schema.nullable(d.root) {
		t.markers = append(t.markers, "nullable")
	}
	if len(s.schema.AllOf) > 0 {
		d.note(s.path, "allOf of the schema is checked when the chart is rendered, not before")
	}
	switch t.shape {
	case shapeString:
		d.enumerate(t, s)
		d.constrainText(t, s)
	case shapeInteger, shapeNumber:
		d.enumerate(t, s)
		t.markers = append(t.markers, numberMarkers(s.schema)...)
	case shapeBoolean:
		d.enumerate(t, s)
	case shapeList:
		d.constrainList(t, s)
	case shapeMap:
		t.markers = append(t.markers, optional("MaxProperties", s.schema.MaxProperties)...)
	case shapeStruct, shapeIntOrString, shapeFree, shapeFreeObject:
	}
	d.defaulted(t, s)
}

func optional(marker string, number *json.Number) []string {
	if number == nil {
		return nil
	}
	return []string{"kubebuilder:validation:" + marker + "=" + number.String()}
}

// enumerate adds the marker for allowed values. It quotes strings, because an empty string is an allowed value, too.
func (d *deriver) enumerate(t *valueType, s subject) {
	allowed := s.schema.Enum
	if len(s.schema.Const) > 0 {
		allowed = []json.RawMessage{s.schema.Const}
	}
	var values []string
	for _, text := range allowed {
		value, ok := literal(text)
		if string(text) == "null" {
			continue
		}
		if !ok {
			d.note(s.path, "enum of the schema is checked when the chart is rendered, not before")
			return
		}
		values = append(values, value)
	}
	if len(values) > 0 {
		t.markers = append(t.markers, "kubebuilder:validation:Enum="+strings.Join(values, ";"))
	}
}

// literal returns a scalar in the syntax of markers.
func literal(text json.RawMessage) (string, bool) {
	switch jsonType(text) {
	case "string":
		var value string
		if json.Unmarshal(text, &value) != nil || strings.ContainsAny(value, "\n\r\x00") {
			return "", false
		}
		return strconv.Quote(value), true
	case "boolean", "integer", "number":
		return string(text), true
	}
	return "", false
}

func (d *deriver) constrainText(t *valueType, s subject) {
	t.markers = append(t.markers, optional("MinLength", s.schema.MinLength)...)
	t.markers = append(t.markers, optional("MaxLength", s.schema.MaxLength)...)
	if slices.Contains(formats, s.schema.Format) {
		t.markers = append(t.markers, "kubebuilder:validation:Format="+s.schema.Format)
	}
	switch pattern := s.schema.Pattern; {
	case pattern == "":
	case strings.ContainsAny(pattern, "`\n\r"):
		d.note(s.path, "the pattern of the schema is checked when the chart is rendered, not before")
	default:
		if _, err := regexp.Compile(pattern); err != nil {
			d.note(s.path, "the pattern of the schema is checked when the chart is rendered, not before: %v", err)
			return
		}
		t.markers = append(t.markers, "kubebuilder:validation:Pattern=`"+pattern+"`")
	}
}

// numberMarkers returns the markers for bounds of a number. In newer drafts of JSON schema, exclusive bounds are
// numbers. In older drafts, they are booleans that make the other bounds exclusive.
func numberMarkers(s *schema) []string {
	markers := slices.Concat(bound("Minimum", s.Minimum, s.ExclusiveMinimum),
		bound("Maximum", s.Maximum, s.ExclusiveMaximum))
	return append(markers, optional("MultipleOf", s.MultipleOf)...)
}

func bound(name string, inclusive *json.Number, exclusive json.RawMessage) []string {
	markers := optional(name, inclusive)
	switch jsonType(exclusive) {
	case "boolean":
		if string(exclusive) == "true" && inclusive != nil {
			markers = append(markers, "kubebuilder:validation:Exclusive"+name+"=true")
		}
	case "integer", "number":
		markers = []string{"kubebuilder:validation:" + name + "=" + string(exclusive), "kubebuilder:validation:Exclusive" +
			name + "=true"}
	}
	return markers
}

func (d *deriver) constrainList(t *valueType, s subject) {
	t.markers = append(t.markers, optional("MinItems", s.schema.MinItems)...)
	t.markers = append(t.markers, optional("MaxItems", s.schema.MaxItems)...)
	if s.schema.UniqueItems {
		if t.element.isScalar() && t.element.shape != shapeIntOrString {
			t.markers = append(t.markers, "listType=set")
		} else {
			d.note(s.path, "uniqueItems of the schema is checked when the chart is rendered, not before")
		}
	}
}

// defaulted adds a marker for the default of the schema if values.yaml has the same default. Other defaults of the
// schema are not used, because Helm ignores defaults of schemas.
func (d *deriver) defaulted(t *valueType, s subject) {
	if len(s.schema.Default) == 0 || string(s.schema.Default) == "null" {
		return
	}
	value, ok := literal(s.schema.Default)
	own := s.fallback()
	switch {
	case !ok || !t.isScalar() || t.shape == shapeIntOrString || !fits(t.shape, s.schema.Default):
		return
	case own == "":
		d.note(s.path, "the default %s of the schema is not used, as in Helm", s.schema.Default)
	case own != compact(s.schema.Default):
		d.note(s.path, "the default %s of the schema is not used, because values.yaml has the default %s",
			s.schema.Default, own)
	default:
		t.markers = append(t.markers, fmt.Sprintf("kubebuilder:default=%s", value))
	}
}

func fits(s shape, text json.RawMessage) bool {
	return jsonType(text) == string(s) || s == shapeNumber && jsonType(text) == "integer"
}

func compact(text json.RawMessage) string {
	var value any
	if json.Unmarshal(text, &value) != nil {
		return string(text)
	}
	out, err := json.Marshal(value)
	if err != nil {
		return string(text)
	}
	return string(out)
}
