package isolate

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// contentsOf returns the contents of rendered objects as plain data.
func contentsOf(objects []client.Object, scheme *runtime.Scheme) ([]map[string]any, error) {
	contents := make([]map[string]any, 0, len(objects))
	for i, object := range objects {
		if object == nil {
			return nil, fmt.Errorf("the generator returned nil as object %d", i+1)
		}
		u, err := manifests.ToUnstructured(object, func(o runtime.Object) (schema.GroupVersionKind, error) {
			return apiutil.GVKForObject(o, scheme)
		})
		if err != nil {
			return nil, fmt.Errorf("%T %s: %w", object, object.GetName(), err)
		}
		content := u.Object
		if !isPlain(content) {
			if content, err = asPlain(content); err != nil {
				return nil, fmt.Errorf("%s %s: the manifest cannot be written as JSON: %w", u.GetKind(), u.GetName(), err)
			}
		}
		contents = append(contents, content)
	}
	return contents, nil
}

// isPlain reports whether a value has the types of decoded JSON only.
func isPlain(value any) bool {
	switch value := value.(type) {
	case nil, string, bool, int64, float64:
		return true
	case map[string]any:
		for _, element := range value {
			if !isPlain(element) {
				return false
			}
		}
		return true
	case []any:
		for _, element := range value {
			if !isPlain(element) {
				return false
			}
		}
		return true
	}
	return false
}

func asPlain(content map[string]any) (map[string]any, error) {
	text, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	plain := map[string]any{}
	return plain, json.Unmarshal(text, &plain)
}

// objectsOf returns objects with the given contents.
func objectsOf(contents []map[string]any) []client.Object {
	objects := make([]client.Object, len(contents))
	for i, content := range contents {
		objects[i] = &unstructured.Unstructured{Object: content}
	}
	return objects
}
