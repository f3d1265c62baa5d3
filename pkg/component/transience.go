package component

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// lookupFailures notes look-ups of a rendering that failed for a reason that goes away by itself: a template engine keeps the words of an
// error, but not what they were made from.
type lookupFailures struct {
	mu     sync.Mutex
	failed bool
	after  time.Duration
}

// watch returns a Lookup whose failures are noted.
func (f *lookupFailures) watch(l generator.Lookup) generator.Lookup { return watchedLookup{l, f} }

func (f *lookupFailures) note(err error) {
	after, ok := condition.IsTransient(err)
	if !ok {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed, f.after = true, max(f.after, after)
}

// explain returns the error of a generator as one to be retried, where a look-up of it failed so, unless the generator knows better.
func (f *lookupFailures) explain(err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.failed || errors.Is(err, reconcile.TerminalError(nil)) {
		return err
	}
	return RetryAfter(err, f.after)
}

// watchedLookup tells of the failures of another Lookup.
type watchedLookup struct {
	generator.Lookup
	failures *lookupFailures
}

// Get reads one object.
func (l watchedLookup) Get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	obj, err := l.Lookup.Get(ctx, gvk, namespace, name)
	l.failures.note(err)
	return obj, err
}

// List reads all objects of a type.
func (l watchedLookup) List(ctx context.Context, gvk schema.GroupVersionKind, namespace string) (*unstructured.UnstructuredList, error) {
	list, err := l.Lookup.List(ctx, gvk, namespace)
	l.failures.note(err)
	return list, err
}
