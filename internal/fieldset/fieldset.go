package fieldset

import (
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Decode returns the fields of an entry of metadata.managedFields, and nil if they cannot be decoded.
func Decode(f *metav1.FieldsV1) map[string]any {
	var fields map[string]any
	if f == nil || json.Unmarshal(f.GetRawBytes(), &fields) != nil {
		return nil
	}
	return fields
}

// Unite adds copies of the fields of from to into. It does not change from.
func Unite(into, from map[string]any) {
	for name, node := range from {
		child, _ := node.(map[string]any)
		have, ok := into[name].(map[string]any)
		if !ok {
			have = map[string]any{}
			into[name] = have
		}
		Unite(have, child)
	}
}

// Elements returns the sorted keys of a node that identify items of a list or a set.
func Elements(node map[string]any) []string {
	var elements []string
	for name := range node {
		if strings.HasPrefix(name, "k:") || strings.HasPrefix(name, "v:") {
			elements = append(elements, name)
		}
	}
	slices.Sort(elements)
	return elements
}

// Matches reports whether element identifies item, which is an item of a list or a set. Element is a key in the form
// k:{…} or v:….
func Matches(item any, element string) bool {
	if fields, ok := item.(map[string]any); ok {
		return matchesKey(fields, element)
	}
	return element == ValueElement(item)
}

// ValueElement returns the key that identifies an item of a set.
func ValueElement(item any) string { return "v:" + encode(item) }

// keyDefaults are the API server's defaults for fields that identify list items. Ports, for example, are identified by
// number and protocol.
var keyDefaults = map[string]any{"protocol": "TCP"}

// matchesKey reports whether an item of a list contains the key fields and values in an element k:{…}. If the item
// lacks a key field, the default of the field is compared. If no default is known, the field matches.
func matchesKey(item map[string]any, element string) bool {
	text, ok := strings.CutPrefix(element, "k:")
	if !ok {
		return false
	}
	var keys map[string]any
	if json.Unmarshal([]byte(text), &keys) != nil {
		return false
	}
	for name, want := range keys {
		got, known := item[name]
		if !known {
			got, known = keyDefaults[name]
		}
		if known && encode(got) != encode(want) {
			return false
		}
	}
	return true
}

func encode(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(data)
}
