package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// id identifies an object in a cluster.
type id struct{ group, kind, namespace, name string }

func (i id) String() string {
	kind := i.kind
	if i.group != "" {
		kind += "." + i.group
	}
	return kind + " " + strings.TrimPrefix(i.namespace+"/"+i.name, "/")
}

// objects contains the objects of a cluster or of a rendering, by their ids.
type objects map[id]*unstructured.Unstructured

func idOf(o *unstructured.Unstructured) id {
	gv, err := schema.ParseGroupVersion(o.GetAPIVersion())
	if err != nil {
		gv.Group = o.GetAPIVersion()
	}
	return id{group: gv.Group, kind: o.GetKind(), namespace: o.GetNamespace(), name: o.GetName()}
}

// parse reads the output of "helm template". It replaces lists by their items.
func parse(stream []byte) (objects, error) {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(stream)))
	found := objects{}
	for {
		text, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		var body map[string]any
		if err := yaml.Unmarshal(text, &body); err != nil {
			return nil, fmt.Errorf("a rendered document: %w", err)
		}
		o := &unstructured.Unstructured{Object: body}
		if !o.IsList() {
			found.add(o)
			continue
		}
		err = o.EachListItem(func(item runtime.Object) error {
			if each, ok := item.(*unstructured.Unstructured); ok {
				found.add(each)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("a rendered list: %w", err)
		}
	}
}

func (o objects) add(object *unstructured.Unstructured) {
	if object.GetKind() != "" {
		o[idOf(object)] = object
	}
}

// without returns the objects that others does not contain.
func (o objects) without(others objects) objects {
	more := objects{}
	for key, object := range o {
		if _, found := others[key]; !found {
			more[key] = object
		}
	}
	return more
}
