package component

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// DependentReader reads the dependents of one component.
type DependentReader interface {
	// Get reads a dependent as it is in the target now, as the component's identity. Objects of the kinds in Options.CacheFull come from the
	// watch instead, and cost no request. The error is IsNotFound where the object does not exist, or is no dependent of the component.
	// The caller may change what it gets.
	Get(ctx context.Context, key manifests.Key) (*unstructured.Unstructured, error)
}
