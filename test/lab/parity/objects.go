package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// object is a rendered object.
type object struct {
	id   id
	body map[string]any
}

// id identifies an object in a rendering.
type id struct {
	apiVersion, kind, namespace, name string
	// copyNumber is the number of the object among objects with the same identity, from 0.
	copyNumber int
}

func (i id) String() string {
	text := i.kind + "." + i.apiVersion + " " + strings.TrimPrefix(i.namespace+"/"+i.name, "/")
	if i.copyNumber > 0 {
		text += fmt.Sprintf(" (copy %d)", i.copyNumber+1)
	}
	return text
}

// parse reads a stream of YAML documents. It shares no code with Fairlead, which is the tested program. It replaces
// lists by their items, and normalises values that the API server treats as equal: a null namespace and a missing one,
// null labels and missing labels, a null label and an empty label.
func parse(stream []byte) ([]object, error) {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(stream)))
	seen := map[id]int{}
	var objects []object
	for {
		text, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		asJSON, err := yaml.YAMLToJSON(text)
		if err != nil {
			return nil, err
		}
		var body any
		if err := json.Unmarshal(asJSON, &body); err != nil {
			return nil, err
		}
		for _, item := range items(body) {
			mend(item)
			found := idOf(item)
			number := seen[found]
			seen[found]++
			found.copyNumber = number
			objects = append(objects, object{id: found, body: item})
		}
	}
}

func items(body any) []map[string]any {
	fields, ok := body.(map[string]any)
	if !ok {
		return nil
	}
	kind, _ := fields["kind"].(string)
	list, isList := fields["items"].([]any)
	if !isList || !strings.HasSuffix(kind, "List") {
		return []map[string]any{fields}
	}
	var all []map[string]any
	for _, item := range list {
		all = append(all, items(item)...)
	}
	return all
}

func mend(body map[string]any) {
	metadata, ok := body["metadata"].(map[string]any)
	if !ok {
		return
	}
	for _, field := range []string{"namespace", "labels", "annotations"} {
		if metadata[field] == nil {
			delete(metadata, field)
		}
		entries, _ := metadata[field].(map[string]any)
		for key, value := range entries {
			if value == nil {
				entries[key] = ""
			}
		}
	}
}

func idOf(body map[string]any) id {
	metadata, _ := body["metadata"].(map[string]any)
	text := func(value any) string {
		if value == nil {
			return ""
		}
		return fmt.Sprint(value)
	}
	return id{
		apiVersion: text(body["apiVersion"]),
		kind:       text(body["kind"]),
		namespace:  text(metadata["namespace"]),
		name:       text(metadata["name"]),
	}
}
