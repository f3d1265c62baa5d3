package eventsources

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/internal/authorcode"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// EventSource holds a value for each component. It is safe for concurrent use.
type EventSource interface {
	// Run runs the event source until ctx ends. It is called once. Afterwards the event source knows no values, and takes
	// none. ctx has ended already if the event source was removed before it ran.
	Run(ctx context.Context, p *Port)
	// Track tells the event source that a component exists, as it is now. Track is called at the start of each pass. It
	// does not wait.
	Track(ctx context.Context, obj client.Object, clusters Clusters)
	// State returns what is known of a tracked component.
	State(name types.NamespacedName) State
	// Input returns the value for a component, to be used as an input of its rendering.
	Input(ctx context.Context, name types.NamespacedName) (Input, error)
	// Forget drops everything about a component.
	Forget(name types.NamespacedName)
	// Kind returns the kind, and Size the number of values, and of the components without a current one.
	Kind() Kind
	Size() (values, stale int)
	// Claim returns false if the event source was added to a Set before. An event source embeds Once for it.
	Claim() bool
}

// Preparer is an EventSource that must be checked against the Go types of the operator before it runs.
type Preparer interface {
	Prepare(scheme *runtime.Scheme) error
}

// Once implements EventSource.Claim.
type Once struct{ claimed atomic.Bool }

// Claim returns true at the first call, and false afterwards.
func (o *Once) Claim() bool { return o.claimed.CompareAndSwap(false, true) }

// State is what an event source knows of a component.
type State struct {
	// Waits is set until the first value or failure arrives.
	Waits bool
	// Failure is the error of the last attempts, and Since the time of the first one. Both are empty while the value is
	// current.
	Failure string
	Since   time.Time
}

// Input is the value of an event source as an input of a rendering.
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

// ErrNoValue is the error of EventSource.Input before the first value or failure.
var ErrNoValue = errors.New("no value yet")

// RequestTimeout is the time-out of a request for a value, unless the author sets another one.
const RequestTimeout = 30 * time.Second

// CallAuthor calls a function of an author. It logs a panic, and returns it as an error.
func CallAuthor(ctx context.Context, f func(context.Context) error) (err error) {
	p := authorcode.Run("the function", func() { err = f(ctx) })
	if p != nil {
		log.FromContext(ctx).Error(p, "recovered in an event source", "stack", string(p.Stack))
		err = p
	}
	return err
}
