package changes

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/marks"
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
	metadata, _ := cleaned.Object["metadata"].(map[string]any)
	reconcilers := reconcilersOf(metadata)
	dropMarks(metadata, "labels", reconcilers)
	dropMarks(metadata, "annotations", reconcilers)
	return cleaned
}

// reconcilersOf returns the names of the reconcilers that own an object or released it.
func reconcilersOf(metadata map[string]any) []string {
	var names []string
	for _, field := range []string{"labels", "annotations"} {
		values, _ := metadata[field].(map[string]any)
		for key := range values {
			prefix, name, _ := strings.Cut(key, "/")
			if name == manifests.AnnotationOwnerID || name == marks.AnnotationReleasedBy && field == "annotations" {
				names = append(names, prefix)
			}
		}
	}
	return names
}

// dropMarks removes the marks of reconcilers. Keys of others may have the same names after another prefix.
func dropMarks(metadata map[string]any, field string, reconcilers []string) {
	values, _ := metadata[field].(map[string]any)
	for key := range values {
		prefix, name, _ := strings.Cut(key, "/")
		if !slices.Contains(reconcilers, prefix) {
			continue
		}
		switch name {
		case manifests.AnnotationOwnerID, marks.AnnotationDigest, marks.AnnotationObject,
			marks.AnnotationIgnoredByOption, marks.AnnotationIgnoredBySpec, marks.AnnotationReleasedBy:
			delete(values, key)
		}
	}
	if len(values) == 0 {
		delete(metadata, field)
	}
}
