package component

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/internal/packed"
)

// drafted are manifests as they were rendered: plain, or packed while they are kept. The zero value says that they were dropped.
type drafted struct {
	plain  []*unstructured.Unstructured
	packed []packed.Manifest
}

func (d drafted) dropped() bool { return d.plain == nil && d.packed == nil }

// all returns the manifests. They are read-only.
func (d drafted) all() ([]*unstructured.Unstructured, error) {
	if d.packed == nil {
		return d.plain, nil
	}
	return packed.Unpack(d.packed)
}

// pack returns the same manifests, packed.
func (d drafted) pack() (drafted, error) {
	if d.packed != nil {
		return d, nil
	}
	light, err := packed.Pack(d.plain)
	return drafted{packed: light}, err
}
