package component

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/pkg/component/internal/execute"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// goesAway says of an error of an author's code that an API server is at the bottom of it, in a state that goes away by itself: overloaded,
// in trouble, or out of reach. after is when it wants to be asked again, if it said so. What an API server does not have, or refuses, only a
// person can change.
func goesAway(err error) (after time.Duration, ok bool) {
	var status apierrors.APIStatus
	var request *url.Error
	switch {
	case apierrors.IsNotFound(err):
		return 0, false
	case errors.As(err, &status):
		seconds, _ := apierrors.SuggestsClientDelay(err)
		return time.Duration(seconds) * time.Second, execute.Classify(err).Class == plan.Transient
	case errors.As(err, &request):
		return 0, request.Op != "parse"
	}
	return 0, false
}

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
	after, ok := goesAway(err)
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
