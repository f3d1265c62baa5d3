package component

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/internal/packed"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// packObjects returns the objects with their bodies packed: all but Body is as it was, and Body is nil; see Object.Whole.
func packObjects(objects []manifests.Object) ([]manifests.Object, error) {
	bodies := make([]*unstructured.Unstructured, 0, len(objects))
	for _, o := range objects {
		bodies = append(bodies, o.Body)
	}
	contents, err := packed.Pack(bodies)
	if err != nil {
		return nil, err
	}
	light := make([]manifests.Object, 0, len(objects))
	for i, o := range objects {
		o.Body, o.Packed = nil, contents[i]
		light = append(light, o)
	}
	return light, nil
}
