package rendering

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Objects converts decoded manifests to the result type of a generator.
func Objects(decoded []*unstructured.Unstructured) []client.Object {
	objects := make([]client.Object, len(decoded))
	for i, object := range decoded {
		objects[i] = object
	}
	return objects
}
