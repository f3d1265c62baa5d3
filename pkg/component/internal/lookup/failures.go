package lookup

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// Failures notes whether look-ups of a rendering failed for a transient reason. Template engines return the text of
// such an error, but not its type. So the error of the generator alone does not show that a retry helps.
type Failures struct {
	mu     sync.Mutex
	failed bool
	after  time.Duration
}

// Of returns a Lookup whose transient failures are noted.
func (f *Failures) Of(l generator.Lookup) generator.Lookup { return notingLookup{l, f} }

func (f *Failures) add(err error) {
	after, ok := passerror.IsTransient(err)
	if !ok {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed, f.after = true, max(f.after, after)
}

// Explain makes the error of a generator an error that is retried, if a look-up failed for a transient reason. An error
// that the generator itself declared terminal remains terminal.
func (f *Failures) Explain(err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil || !f.failed || errors.Is(err, reconcile.TerminalError(nil)) {
		return err
	}
	return &passerror.Retry{Cause: err, After: f.after}
}

// notingLookup notes the failures of another Lookup.
type notingLookup struct {
	generator.Lookup
	failures *Failures
}

// Get reads one object.
func (l notingLookup) Get(
	ctx context.Context, gvk schema.GroupVersionKind, namespace, name string,
) (*unstructured.Unstructured, error) {
	obj, err := l.Lookup.Get(ctx, gvk, namespace, name)
	l.failures.add(err)
	return obj, err
}

// List reads all objects of a type.
func (l notingLookup) List(
	ctx context.Context, gvk schema.GroupVersionKind, namespace string,
) (*unstructured.UnstructuredList, error) {
	list, err := l.Lookup.List(ctx, gvk, namespace)
	l.failures.add(err)
	return list, err
}
