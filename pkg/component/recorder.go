package component

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

// recorder remembers what the renderings of a pass looked up. Each object is read once, so that a second rendering sees what the first one
// saw, and costs no request.
type recorder struct {
	target target

	mu    sync.Mutex
	found map[lookupKey]found
}

func newRecorder(t target) *recorder { return &recorder{target: t, found: map[lookupKey]found{}} }

// recordingLookup reads for a generator through a recorder.
type recordingLookup struct {
	recorder *recorder
	local    bool
	// withoutStatus leaves the status out of what is served.
	withoutStatus bool
}

var _ generator.Lookup = recordingLookup{}

// Get reads one object.
func (l recordingLookup) Get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	f := l.recorder.look(ctx, lookupKey{local: l.local, gvk: gvk, namespace: namespace, name: name})
	if f.err != nil {
		return nil, f.err
	}
	return l.serve(f.object), nil
}

// List reads all objects of a type.
func (l recordingLookup) List(ctx context.Context, gvk schema.GroupVersionKind, namespace string) (*unstructured.UnstructuredList, error) {
	f := l.recorder.look(ctx, lookupKey{local: l.local, gvk: gvk, namespace: namespace, list: true})
	if f.err != nil {
		return nil, f.err
	}
	served := &unstructured.UnstructuredList{Object: f.list.Object, Items: make([]unstructured.Unstructured, 0, len(f.list.Items))}
	for i := range f.list.Items {
		served.Items = append(served.Items, *l.serve(&f.list.Items[i]))
	}
	return served, nil
}

// serve returns a copy: a generator may change what it gets.
func (l recordingLookup) serve(object *unstructured.Unstructured) *unstructured.Unstructured {
	served := object.DeepCopy()
	if l.withoutStatus {
		delete(served.Object, "status")
	}
	return served
}

// look answers from memory what was asked before. An answer that tells nothing is not remembered.
func (r *recorder) look(ctx context.Context, asked lookupKey) found {
	r.mu.Lock()
	known, ok := r.found[asked]
	r.mu.Unlock()
	if ok {
		return known
	}
	e := r.target.engine
	if asked.local {
		e = r.target.local
	}
	key, f := e.find(ctx, asked)
	if !f.definite() {
		return f
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if first, ok := r.found[key]; ok {
		return first
	}
	r.found[key] = f
	return f
}

// hasStatus says that something was read that has a status.
func (r *recorder) hasStatus() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.found {
		if f.object != nil && f.object.Object["status"] != nil {
			return true
		}
		if f.list == nil {
			continue
		}
		for i := range f.list.Items {
			if f.list.Items[i].Object["status"] != nil {
				return true
			}
		}
	}
	return false
}
