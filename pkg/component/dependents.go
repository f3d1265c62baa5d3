package component

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// DependentReader reads the dependents of one component.
type DependentReader interface {
	// Get reads a live dependent from the target, as the component's identity. Objects of the kinds in
	// Options.CacheFull come from the watch, without a request. The error is IsNotFound if the object does not exist or
	// is not a dependent of the component. The caller may change the returned object.
	Get(ctx context.Context, key manifests.Key) (*unstructured.Unstructured, error)
}
