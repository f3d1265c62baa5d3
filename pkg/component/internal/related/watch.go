package related

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources"
)

// watch is the state of the watches of an informer. It is safe for concurrent use.
type watch struct {
	options *Options
	// parts are the watches. They do not change after setScope, which is called before they run.
	parts []*informerPart

	mu sync.Mutex
	// namespaces are the only namespaces that are watched. They are nil if all are watched, if the type is cluster-scoped,
	// or as long as its scope is not known.
	namespaces []string
	// isSynced is set when all parts were listed and are watched. failure is the last error of a part.
	isSynced bool
	failure  string
	since    time.Time
}

// partState is the state of one watch. The lock of the watch protects the fields.
type partState struct {
	listed, watching bool
	failure          string
}

// setScope stores whether the type is namespaced. A cluster-scoped type has one watch without a namespace.
func (w *watch) setScope(isNamespaced bool, namespaces []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if isNamespaced {
		w.namespaces = namespaces
		return
	}
	w.parts = w.parts[:1]
	w.parts[0].namespace = metav1.NamespaceAll
}

// checkNamespaces returns an error if one of the objects is in a namespace that is not watched.
func (w *watch) checkNamespaces(keys ...client.ObjectKey) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.namespaces == nil {
		return nil
	}
	kind := w.options.GVK.Kind
	for _, key := range keys {
		switch {
		case slices.Contains(w.namespaces, key.Namespace):
		case key.Namespace == "":
			return fmt.Errorf("%s %s is named without its namespace", kind, key.Name)
		case len(w.options.Namespaces) > 0:
			return fmt.Errorf("%s %s: namespace %q is not watched; add it to RelatedOptions.Namespaces",
				kind, key, key.Namespace)
		default:
			return fmt.Errorf("%s %s: namespace %q is not watched, because it is not in Options.Watching.Namespaces; "+
				"name the namespaces of these objects in RelatedOptions.Namespaces", kind, key, key.Namespace)
		}
	}
	return nil
}

// opened notes that the watch of a part is open, and reports whether that changed the state.
func (w *watch) opened(p *informerPart) (news bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p.state.watching = true
	return w.settle()
}

// listed notes that a part was listed, and reports whether that changed the state.
func (w *watch) listed(p *informerPart) (news bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p.state.listed = true
	return w.settle()
}

// failed notes that a list or a watch of a part failed, and reports whether that changed the state. After a network
// failure, listed objects remain known.
func (w *watch) failed(p *informerPart, message string, definite bool) (news bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if definite || !p.state.listed {
		p.state = partState{listed: p.state.listed && !definite, failure: message}
	}
	return w.settle()
}

// settle sets isSynced and failure, and reports whether one of them changed. The caller holds the lock.
func (w *watch) settle() (news bool) {
	synced, failure := true, ""
	for _, p := range w.parts {
		if p.state.listed && p.state.watching {
			p.state.failure = ""
		}
		synced = synced && p.state.listed && p.state.watching
		if failure == "" {
			failure = p.state.failure
		}
	}
	news = synced && !w.isSynced || (failure == "") != (w.failure == "")
	switch {
	case failure == "":
		w.since = time.Time{}
	case w.failure == "":
		w.since = time.Now()
	}
	// Objects that were known stay known while the watch fails.
	w.isSynced, w.failure = w.isSynced || synced, failure
	return news
}

// synced reports whether the objects are known.
func (w *watch) synced() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.isSynced
}

// state returns the state for components without a failure of their own.
func (w *watch) state() eventsources.State {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failure != "" {
		return eventsources.State{Failure: w.failure, Since: w.since}
	}
	return eventsources.State{Waits: !w.isSynced}
}

// ready returns an error as long as the objects are not known.
func (w *watch) ready() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.isSynced:
		return nil
	case w.failure != "":
		return errors.New(w.failure)
	}
	return eventsources.ErrNoValue
}
