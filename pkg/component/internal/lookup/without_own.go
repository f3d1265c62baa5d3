package lookup

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

// FoundOwn reports whether any object that was read is a dependent or a record of the component.
func (r *Recorder) FoundOwn(o Owner) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.answers {
		if a.object != nil && o.Owns(a.object) || a.list != nil && slices.ContainsFunc(a.list.Items, o.ownsItem) {
			return true
		}
	}
	return false
}

func (o Owner) ownsItem(object unstructured.Unstructured) bool { return o.Owns(&object) }

// WithoutOwn returns look-ups that do not find the dependents and records of a component, as before its first apply.
func WithoutOwn(l generator.Lookup, o Owner) generator.Lookup { return othersLookup{l, o} }

type othersLookup struct {
	generator.Lookup
	owner Owner
}

// Get implements generator.Lookup.
func (l othersLookup) Get(
	ctx context.Context, gvk schema.GroupVersionKind, namespace, name string,
) (*unstructured.Unstructured, error) {
	object, err := l.Lookup.Get(ctx, gvk, namespace, name)
	if err == nil && l.owner.Owns(object) {
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, name)
	}
	return object, err
}

// List implements generator.Lookup.
func (l othersLookup) List(
	ctx context.Context, gvk schema.GroupVersionKind, namespace string,
) (*unstructured.UnstructuredList, error) {
	list, err := l.Lookup.List(ctx, gvk, namespace)
	if err == nil {
		list.Items = slices.DeleteFunc(list.Items, l.owner.ownsItem)
	}
	return list, err
}
