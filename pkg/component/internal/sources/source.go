package sources

import (
	"context"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Source is an event source. It is safe for concurrent use.
type Source interface {
	// Run runs the source until ctx ends. After that, the source knows no values.
	Run(ctx context.Context, h Host)
	// Track tells the source that a component exists, as it is now. Track is called at the start of each pass. It does
	// not wait.
	Track(ctx context.Context, obj client.Object, clusters Clusters)
	// State returns what is known of a tracked component.
	State(name types.NamespacedName) State
	// Input returns the value for a component, to be used as an input of its rendering.
	Input(ctx context.Context, name types.NamespacedName) (Input, error)
	// Forget drops everything about a component.
	Forget(name types.NamespacedName)
	// Prepare checks the source against the Go types of the operator, before it runs.
	Prepare(scheme *runtime.Scheme) error
	// Kind returns the kind of the source, and Size the number of its values, and of the components without a current one.
	Kind() Kind
	Size() (values, stale int)
	// claim returns false if the source was added to a Set before.
	claim() bool
	// discard drops the values of a source that was removed before it ran.
	discard()
}

// Host is the reconciler of a Set.
type Host struct {
	// Wake starts a pass over a component. It does not block.
	Wake func(types.NamespacedName)
	// Load returns a component from the cache.
	Load func(context.Context, types.NamespacedName) (client.Object, error)
	// List returns all components in the cache.
	List func(context.Context) ([]client.Object, error)
	// Home is the cluster of the components. Namespaces are the namespaces that are watched there; empty means all.
	Home       Cluster
	Namespaces []string
	// Counter counts the results of sources. It may be nil.
	Counter Counter

	tally tally
}

// State is what a source knows of a component.
type State struct {
	// Waits is set until the first value or failure arrives.
	Waits bool
	// Failure is the error of the last attempts, and Since the time of the first one. Both are empty while the value is
	// current.
	Failure string
	Since   time.Time
}

// Input is the value of a source as an input of a rendering.
type Input struct {
	// Digest identifies the value. It is empty if there is no value.
	Digest string
	// Load returns the value as plain data. It is nil if there is no value.
	Load func(context.Context) (any, error)
	// Secret is set if the value must not be shown.
	Secret bool
	// Objects are the objects that the value comes from, if they are in the cluster of the components.
	Objects []manifests.Key
}

// single ensures that a source belongs to one Set only.
type single struct{ claimed atomic.Bool }

func (s *single) claim() bool { return s.claimed.CompareAndSwap(false, true) }

// discard implements Source for sources that have no values before they run.
func (s *single) discard() {}

// Prepare implements Source for sources that need no Go types.
func (s *single) Prepare(*runtime.Scheme) error { return nil }
