package componentroles

import (
	"context"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

// AskedLookups notes the look-ups of a rendering. Answers makes the look-ups. If Answers is nil, look-ups find no
// objects.
type AskedLookups struct {
	Answers generator.Lookup

	mu    sync.Mutex
	asked []Lookup
}

var _ generator.Lookup = (*AskedLookups)(nil)

// All returns the look-ups so far.
func (r *AskedLookups) All() []Lookup {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.asked)
}

func (r *AskedLookups) note(l Lookup) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, l)
}

// Get implements generator.Lookup.
func (r *AskedLookups) Get(
	ctx context.Context, gvk schema.GroupVersionKind, namespace, name string,
) (*unstructured.Unstructured, error) {
	r.note(Lookup{gvk, namespace, name})
	if r.Answers == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, name)
	}
	return r.Answers.Get(ctx, gvk, namespace, name)
}

// List implements generator.Lookup.
func (r *AskedLookups) List(
	ctx context.Context, gvk schema.GroupVersionKind, namespace string,
) (*unstructured.UnstructuredList, error) {
	r.note(Lookup{GroupVersionKind: gvk, Namespace: namespace})
	if r.Answers == nil {
		return &unstructured.UnstructuredList{}, nil
	}
	return r.Answers.List(ctx, gvk, namespace)
}
