package gotemplate

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// lookup reads an object of the target, or the list of all objects of a kind where name is empty. What does not exist is an empty map; a
// kind that is not served has no objects, because its definition may be a dependent of this very rendering.
func (r *rendition) lookup(apiVersion, kind, namespace, name string) (map[string]any, error) {
	if r.req.Target == nil {
		return map[string]any{}, nil
	}
	gvk := schema.FromAPIVersionAndKind(apiVersion, kind)
	content, err := r.read(gvk, namespace, name)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return map[string]any{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("lookup %s %s: %w", gvk.GroupKind(), name, err)
	}
	return content, nil
}

// read returns a copy, because templates can change what they get.
func (r *rendition) read(gvk schema.GroupVersionKind, namespace, name string) (map[string]any, error) {
	if name == "" {
		list, err := r.req.Target.List(r.ctx, gvk, namespace)
		if err != nil {
			return nil, err
		}
		return list.DeepCopy().UnstructuredContent(), nil
	}
	object, err := r.req.Target.Get(r.ctx, gvk, namespace, name)
	if err != nil {
		return nil, err
	}
	return object.DeepCopy().UnstructuredContent(), nil
}
