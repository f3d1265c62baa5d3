// Package fieldset reads what managed fields say, as data. The form is that of FieldsV1 (KEP-555): a key f:name is a field, k:{…} an item of a
// list by its keys, v:… an item of a set; a node without children stands for all below it.
package fieldset

import (
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Decode returns the fields of an entry; nil where they cannot be read.
func Decode(f *metav1.FieldsV1) map[string]any {
	var fields map[string]any
	if f == nil || json.Unmarshal(f.GetRawBytes(), &fields) != nil {
		return nil
	}
	return fields
}

// Unite enters fields into others. What it enters is copied.
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

// Elements returns the names, among the children of a node, that stand for items of a list, in order.
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

// Matches says whether an item of a list is the one that an element names.
func Matches(item any, element string) bool {
	if fields, ok := item.(map[string]any); ok {
		return matchesKey(fields, element)
	}
	return element == ValueElement(item)
}

// ValueElement names an item of a set.
func ValueElement(item any) string { return "v:" + encode(item) }

// keyDefaults are the values that the API server gives to keys of list items: ports are told apart by number and protocol.
var keyDefaults = map[string]any{"protocol": "TCP"}

// matchesKey says whether an item has the keys of a k:{…} element. A key that the item does not name was defaulted; where the default is
// not known, it may be any.
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
