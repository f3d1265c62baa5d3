// Package changes compares objects as they are with objects as they would be.
package changes

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// noise are the fields of metadata that the API server writes by itself, at every write.
var noise = []string{"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink"}

// Clean returns a copy of an object without what no manifest says: what the API server writes by itself, the status, and the marks by which a
// reconciler knows its dependents. Settings stay. It is nil for nil.
func Clean(obj *unstructured.Unstructured) *unstructured.Unstructured {
	if obj == nil {
		return nil
	}
	cleaned := obj.DeepCopy()
	for _, field := range noise {
		unstructured.RemoveNestedField(cleaned.Object, "metadata", field)
	}
	delete(cleaned.Object, "status")
	dropMarks(cleaned, "labels")
	dropMarks(cleaned, "annotations")
	return cleaned
}

func dropMarks(obj *unstructured.Unstructured, field string) {
	metadata, _ := obj.Object["metadata"].(map[string]any)
	values, _ := metadata[field].(map[string]any)
	for key := range values {
		_, name, _ := strings.Cut(key, "/")
		if name == manifests.AnnotationOwnerID || name == manifests.AnnotationDigest {
			delete(values, key)
		}
	}
	if len(values) == 0 {
		delete(metadata, field)
	}
}
