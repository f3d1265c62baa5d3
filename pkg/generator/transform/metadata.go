package transform

import (
	"context"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

// Labels sets labels on all objects and replaces existing values. Selectors and pod templates are not changed: a
// selector is immutable, and a changed template would restart pods.
func Labels(labels map[string]string) generator.Transformer {
	return metadata{
		field:  "labels",
		values: maps.Clone(labels),
		get:    (*unstructured.Unstructured).GetLabels,
		set:    (*unstructured.Unstructured).SetLabels,
	}
}

// Annotations sets annotations on all objects and replaces existing values. The annotations may be settings of
// Fairlead. Pod templates are not changed.
func Annotations(annotations map[string]string) generator.Transformer {
	return metadata{
		field: "annotations", values: maps.Clone(annotations),
		get: (*unstructured.Unstructured).GetAnnotations, set: (*unstructured.Unstructured).SetAnnotations,
	}
}

type metadata struct {
	field  string
	values map[string]string
	get    func(*unstructured.Unstructured) map[string]string
	set    func(*unstructured.Unstructured, map[string]string)
}

var _ generator.Versioner = metadata{}

// Transform implements generator.Transformer.
func (m metadata) Transform(
	_ context.Context,
	_ generator.Request,
	objects []*unstructured.Unstructured,
) ([]*unstructured.Unstructured, error) {
	if len(m.values) == 0 {
		return objects, nil
	}
	for _, object := range objects {
		values := m.get(object)
		if values == nil {
			values = make(map[string]string, len(m.values))
		}
		maps.Copy(values, m.values)
		m.set(object, values)
	}
	return objects, nil
}

// Version returns the values; fmt sorts maps.
func (m metadata) Version() string { return fmt.Sprintf("%s %q", m.field, m.values) }
