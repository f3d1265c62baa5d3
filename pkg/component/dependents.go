package component

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// DependentReader reads the dependents of one component.
type DependentReader interface {
	// Get reads a dependent as it is in the target now, as the component's identity. Objects of the kinds in Options.CacheFull come from the
	// watch instead, and cost no request. The error is IsNotFound where the object does not exist, or is no dependent of the component.
	// The caller may change what it gets.
	Get(ctx context.Context, key manifests.Key) (*unstructured.Unstructured, error)
}

// dependents reads those of a component. It lives as long as the call of the hook that gets it.
type dependents[T Component] struct {
	reconciler *Reconciler[T]
	component  T
}

// Get implements DependentReader.
func (d dependents[T]) Get(ctx context.Context, key manifests.Key) (*unstructured.Unstructured, error) {
	owner, err := d.reconciler.owners.Of(ctx, d.component)
	if err != nil {
		return nil, err
	}
	lines, err := d.reconciler.recordedLines(ctx, d.component, owner)
	if err != nil && !records.IsLost(err) {
		return nil, err
	}
	entries, err := metav1alpha1.ParseInventory(lines)
	if err != nil {
		return nil, err
	}
	entry, recorded := plan.NewInventory(entries)[key]
	if !recorded {
		return nil, notDependent(key)
	}
	target, err := d.reconciler.target(ctx, d.component)
	if err != nil {
		return nil, err
	}
	if target.observing {
		return nil, fmt.Errorf("read %s: the kubeconfig was not read yet", key)
	}
	obj, err := target.engine.dependent(ctx, key, entry.Version)
	if err == nil && obj.GetAnnotations()[d.reconciler.name+"/"+manifests.AnnotationOwnerID] != owner.String() {
		return nil, notDependent(key)
	}
	return obj, err
}

// dependent returns a live object: from the watch, where that keeps it whole, or from the API server.
func (e *Engine) dependent(ctx context.Context, key manifests.Key, version string) (*unstructured.Unstructured, error) {
	if body := e.observer.Body(e.viewer, key); body != nil {
		return body, nil
	}
	mapping, err := e.discovery.Mapper().RESTMapping(key.GroupKind(), version)
	if meta.IsNoMatchError(err) {
		mapping, err = e.discovery.Mapper().RESTMapping(key.GroupKind())
	}
	if err != nil {
		return nil, err
	}
	var resource dynamic.ResourceInterface = e.dynamic.Resource(mapping.Resource)
	if key.Namespace != "" {
		resource = e.dynamic.Resource(mapping.Resource).Namespace(key.Namespace)
	}
	return resource.Get(ctx, key.Name, metav1.GetOptions{})
}

func notDependent(key manifests.Key) error {
	return apierrors.NewNotFound(schema.GroupResource{Group: key.Group, Resource: key.Kind}, key.Namespace+"/"+key.Name)
}
