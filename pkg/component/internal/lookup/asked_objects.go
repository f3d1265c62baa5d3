package lookup

import (
	"context"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// AskedObjects keeps the objects that the renderings of a pass look up. Each object is read once. A second rendering in
// the same pass gets the same objects without another request.
type AskedObjects struct {
	target target.Target

	mu      sync.Mutex
	answers map[key]answer
}

// NewAskedObjects returns AskedObjects for look-ups in the cluster of the component and in the cluster of the
// dependents.
func NewAskedObjects(t target.Target) *AskedObjects {
	return &AskedObjects{target: t, answers: map[key]answer{}}
}

// Lookup returns the interface with which a generator looks up objects. If local is set, it reads in the cluster of the
// component, otherwise in the cluster of the dependents. If withoutStatus is set, the status is removed from the
// objects.
func (r *AskedObjects) Lookup(local, withoutStatus bool) generator.Lookup {
	return askedLookup{objects: r, local: local, withoutStatus: withoutStatus}
}

// HasStatus reports whether any object that was read has a status.
func (r *AskedObjects) HasStatus() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.answers {
		if a.object != nil && a.object.Object["status"] != nil {
			return true
		}
		if a.list == nil {
			continue
		}
		for i := range a.list.Items {
			if a.list.Items[i].Object["status"] != nil {
				return true
			}
		}
	}
	return false
}

// Results returns one Result for each look-up: a digest of the object or list that was read. The Results are sorted by
// the texts of the look-ups in the status, so that equal look-ups make an equal status.
func (r *AskedObjects) Results(o Owner) ([]Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	results := make([]Result, 0, len(r.answers))
	for k, a := range r.answers {
		result, err := o.identify(k, a)
		if err != nil {
			return nil, err
		}
		results = append(results, result)
	}
	slices.SortFunc(
		results,
		func(a, b Result) int { return strings.Compare(a.key.entry().String(), b.key.entry().String()) },
	)
	return results, nil
}

// look returns the known answer of a look-up, or makes the look-up and keeps the answer. An error such as a timeout is
// not kept; see answer.isDefinite.
func (r *AskedObjects) look(ctx context.Context, asked key) answer {
	r.mu.Lock()
	known, ok := r.answers[asked]
	r.mu.Unlock()
	if ok {
		return known
	}
	k, a := read(ctx, r.target.On(asked.local), asked)
	if !a.isDefinite() {
		return a
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if first, ok := r.answers[k]; ok {
		return first
	}
	r.answers[k] = a
	return a
}

// askedLookup is a generator.Lookup that reads through AskedObjects.
type askedLookup struct {
	objects              *AskedObjects
	local, withoutStatus bool
}

// Get reads one object.
func (l askedLookup) Get(
	ctx context.Context, gvk schema.GroupVersionKind, namespace, name string,
) (*unstructured.Unstructured, error) {
	a := l.objects.look(ctx, key{local: l.local, gvk: gvk, namespace: namespace, name: name})
	if a.err != nil {
		return nil, a.err
	}
	return l.copyOf(a.object), nil
}

// List reads all objects of a type.
func (l askedLookup) List(
	ctx context.Context, gvk schema.GroupVersionKind, namespace string,
) (*unstructured.UnstructuredList, error) {
	a := l.objects.look(ctx, key{local: l.local, gvk: gvk, namespace: namespace, list: true})
	if a.err != nil {
		return nil, a.err
	}
	list := &unstructured.UnstructuredList{
		Object: a.list.Object,
		Items:  make([]unstructured.Unstructured, 0, len(a.list.Items)),
	}
	for i := range a.list.Items {
		list.Items = append(list.Items, *l.copyOf(&a.list.Items[i]))
	}
	return list, nil
}

// copyOf returns a copy, because a generator may change the objects that it gets.
func (l askedLookup) copyOf(object *unstructured.Unstructured) *unstructured.Unstructured {
	copied := object.DeepCopy()
	if l.withoutStatus {
		delete(copied.Object, "status")
	}
	return copied
}
