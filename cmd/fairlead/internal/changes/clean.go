// Package changes compares objects. It returns differences as field paths or as unified diffs of YAML, and reads the
// managed fields of objects.
//
// Its functions are pure. They mask the values of Secrets in every text that they return.
package changes

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// serverFields are the fields of metadata that the API server sets.
var serverFields = []string{"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink"}

// Clean returns a copy of an object without the fields of metadata that the API server sets, without status, and
// without the labels and annotations in which the reconciler stores owner and digest. The copy has the annotations with
// settings. Clean returns nil for nil.
func Clean(obj *unstructured.Unstructured) *unstructured.Unstructured {
	if obj == nil {
		return nil
	}
	cleaned := obj.DeepCopy()
	for _, field := range serverFields {
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
		switch name {
		case manifests.AnnotationOwnerID, manifests.AnnotationDigest, manifests.AnnotationObject,
			manifests.AnnotationIgnoredByOption, manifests.AnnotationIgnoredBySpec, manifests.AnnotationReleasedBy:
			delete(values, key)
		}
	}
	if len(values) == 0 {
		delete(metadata, field)
	}
}
