package manifests

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Packed is a manifest that is kept in some other way than as a tree. It is read-only, and safe for concurrent use.
type Packed interface {
	// Unpack returns the manifest, which is the caller's own.
	Unpack() (*unstructured.Unstructured, error)
}

// Whole returns the object with its body, which is unpacked where the object is packed.
func (o Object) Whole() (Object, error) {
	if o.Body != nil {
		return o, nil
	}
	if o.Packed == nil {
		return o, fmt.Errorf("%s: there is neither a manifest nor a packed one", o.Key)
	}
	var err error
	if o.Body, err = o.Packed.Unpack(); err != nil {
		return o, fmt.Errorf("%s: %w", o.Key, err)
	}
	return o, nil
}
