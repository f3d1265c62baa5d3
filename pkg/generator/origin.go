package generator

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Origin is the source file of an object.
type Origin struct {
	// APIVersion, Kind, Namespace and Name are those that the engine rendered, before transformers.
	APIVersion, Kind, Namespace, Name string
	// File is its path in the source.
	File string
}

// Located calls req.Locate, if it is set, with the source files of objects.
func (r Request) Located(file string, objects ...*unstructured.Unstructured) {
	if r.Locate == nil {
		return
	}
	for _, o := range objects {
		r.Locate(
			Origin{
				APIVersion: o.GetAPIVersion(),
				Kind:       o.GetKind(),
				Namespace:  o.GetNamespace(),
				Name:       o.GetName(),
				File:       file,
			},
		)
	}
}
