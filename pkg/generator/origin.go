package generator

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Versioned reports the name and the version of the rendered source, such as "web-1.2.0", to req.SourceVersion. It
// does nothing if SourceVersion is nil.
func (r Request) Versioned(version string) {
	if r.SourceVersion != nil {
		r.SourceVersion(version)
	}
}

// Origin is the source file of an object.
type Origin struct {
	// APIVersion, Kind, Namespace and Name identify the object as rendered by the engine, before transformers change it.
	APIVersion, Kind, Namespace, Name string
	// File is the path of the source file, relative to the root of the source.
	File string
}

// Located reports file as the source file of the objects to req.Locate. It does nothing if Locate is nil.
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
