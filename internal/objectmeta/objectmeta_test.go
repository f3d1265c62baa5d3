package objectmeta_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/objectmeta"
)

func TestCheck(t *testing.T) {
	metadata := func(metadata any) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
	}
	for _, c := range []struct {
		name   string
		object map[string]any
		want   string
	}{
		{"a manifest with a name", metadata(map[string]any{"name": "a"}), ""},
		{"no metadata", map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}, "no metadata.name: give the object a name"},
		{
			"no type",
			map[string]any{"metadata": map[string]any{"name": "a"}},
			"no apiVersion: write one, such as apps/v1\nno kind: write one, such as ConfigMap",
		},
		{"metadata that are no map", metadata("a"), "metadata is a string: write a map with a name"},
		{
			"a generated name", metadata(map[string]any{"generateName": "a-"}),
			"metadata.generateName is not supported, because the object must be found again: write metadata.name",
		},
		{
			"a namespace that is a number", metadata(map[string]any{"name": "a", "namespace": int64(1)}),
			"metadata.namespace is a number: quote it",
		},
		{
			"a label that is a boolean", metadata(map[string]any{"name": "a", "labels": map[string]any{"b": true}}),
			"metadata.labels[b] is a boolean: quote it",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			if err := errors.Join(objectmeta.Check(c.object)...); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestCheckReplacesNull(t *testing.T) {
	metadata := map[string]any{"name": "a", "namespace": nil, "labels": nil, "annotations": map[string]any{"b": nil}}
	errs := objectmeta.Check(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
	_, namespace := metadata["namespace"]
	_, labels := metadata["labels"]
	annotations, _ := metadata["annotations"].(map[string]any)
	if value, ok := annotations["b"]; len(errs) > 0 || namespace || labels || !ok || value != "" {
		t.Errorf("got %v and %v", metadata, errs)
	}
}

func TestCheckAnnotations(t *testing.T) {
	large := map[string]string{"a": "b", "large": strings.Repeat("x", 256<<10)}
	if err := objectmeta.CheckAnnotations(large); err == nil || !strings.Contains(err.Error(),
		"of which large has 262144") {
		t.Errorf("got %v", err)
	}
	delete(large, "large")
	if err := objectmeta.CheckAnnotations(large); err != nil {
		t.Error(err)
	}
}
