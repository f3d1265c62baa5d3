package rendering

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/internal/packed"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Manifests are the manifests of a rendering, either plain or packed to save memory in the cache. The zero value means
// that the manifests were dropped because no later pass needs them.
type Manifests struct {
	plain  []*unstructured.Unstructured
	packed []packed.Manifest
}

func (m Manifests) dropped() bool { return m.plain == nil && m.packed == nil }

// All returns the manifests. They are read-only.
func (m Manifests) All() ([]*unstructured.Unstructured, error) {
	if m.packed == nil {
		return m.plain, nil
	}
	return packed.Unpack(m.packed)
}

// pack returns the same manifests in packed form.
func (m Manifests) pack() (Manifests, error) {
	if m.packed != nil {
		return m, nil
	}
	light, err := packed.Pack(m.plain)
	return Manifests{packed: light}, err
}

// packObjects returns the objects with Packed instead of Body; all other fields are unchanged. See Object.Whole.
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
