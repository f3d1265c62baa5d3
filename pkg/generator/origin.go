package generator

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Origin says which file an object was rendered from.
type Origin struct {
	// APIVersion, Kind, Namespace and Name are those of the object as the generator's engine rendered it, before transformers.
	APIVersion, Kind, Namespace, Name string
	// File is its path in the source.
	File string
}

// Located tells whoever asked for the rendering, who may not want to know, which file objects come from.
func (r Request) Located(file string, objects ...*unstructured.Unstructured) {
	if r.Locate == nil {
		return
	}
	for _, o := range objects {
		r.Locate(Origin{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(), File: file})
	}
}
