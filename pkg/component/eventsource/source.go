package eventsource

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources"
	"github.com/fairlead-io/fairlead/pkg/component/internal/polled"
)

// Source is an event source: what components of type T depend on besides their dependents. Related, Polling,
// PollingEach and Inbound make event sources. An event source has a value for each component. A component is woken when
// its value differs, by digest, and the first pass over a component waits for its first value.
// Reconciler.AddEventSource of package component adds an event source to a reconciler.
//
// No fetch of an event source runs on a worker of the reconciler. If a fetch fails, the last value stays, and after the
// second failure the condition InputStale says since when, and why. A suspended component has no values, and nothing is
// fetched for it. All values are in memory, so they are fetched again after a restart.
type Source[T client.Object] interface {
	// Attach adds the event source to a reconciler. Reconciler.AddEventSource calls it; its parameter is an internal
	// type.
	Attach(to eventsources.Reconciler[T]) (remove func(), err error)
}

// AsInput makes the values of an event source an input of the rendering. The digest of the value is part of the input
// digest, so another value starts a new revision in the history. A pass over a component whose first value cannot be
// fetched fails until it can.
//
// The generator gets the value in Request.Inputs, under the name of the event source, converted as by JSON: []byte is a
// string in base64, and numbers are int64 or float64. The value of Related is a list ([]any), also for a single object:
// it has the Part of each existing object, sorted by namespace and name. A component without a value, or without an
// existing object, has no entry.
//
// The history of a component shows values that changed, except those of a Secret and those whose name, such as
// adminPassword, says that they are secret. Use AsSecretInput for other values that must not be shown.
func AsInput[T client.Object](source Source[T]) Source[T] {
	return asInput[T]{Source: source}
}

// AsSecretInput is AsInput for values that must not be shown, such as a token that a service returns. The history names
// the fields of the value that changed, and not their contents. Errors of the author's functions are shown, so they
// must not contain values.
func AsSecretInput[T client.Object](source Source[T]) Source[T] {
	return asInput[T]{Source: source, secret: true}
}

type asInput[T client.Object] struct {
	Source[T]
	// secret is set if the values must not be shown.
	secret bool
}

// Attach implements Source.
func (a asInput[T]) Attach(to eventsources.Reconciler[T]) (func(), error) {
	to.Use = eventsources.Use{Input: true, Secret: a.secret || to.Use.Secret}
	return a.Source.Attach(to)
}

// Values are the values of an event source that asks for them.
type Values[T client.Object, V any] struct {
	name   string
	source interface {
		eventsources.EventSource
		Get(types.NamespacedName) (value any, at time.Time, known bool)
	}
	refresh func(types.NamespacedName)
}

// Attach implements Source.
func (v *Values[T, V]) Attach(to eventsources.Reconciler[T]) (func(), error) {
	return to.Add(v.name, v.source)
}

// Get returns the value of a component, and its age. known is false if there is no value for the component. The value
// is shared, so the caller must not change it.
func (v *Values[T, V]) Get(component T) (value V, age time.Duration, known bool) {
	return valueOf[V](v.source.Get(client.ObjectKeyFromObject(component)))
}

// Refresh fetches the value of a component at once. A Polling event source fetches the values of all components.
func (v *Values[T, V]) Refresh(name client.ObjectKey) { v.refresh(name) }

func valueOf[V any](stored any, at time.Time, known bool) (value V, age time.Duration, ok bool) {
	if !known {
		return value, 0, false
	}
	value, ok = stored.(V)
	return value, time.Since(at), ok
}

// Polling returns an event source that asks one service for the values of all components, at an interval. A component
// that is missing in the result has no value. That includes a component that is created after the last fetch, if the
// service learned it later: the first pass waits for the first answer of the service only, so call Refresh if the next
// fetch is too late. fetch has a deadline of 30 seconds, or of half the interval if that is longer.
func Polling[T client.Object, V any](
	name string, every time.Duration, fetch func(context.Context) (map[client.ObjectKey]V, error),
) *Values[T, V] {
	poll := polled.NewPoll(max(every, time.Millisecond), fetchAll(fetch))
	return &Values[T, V]{name: name, source: poll, refresh: func(types.NamespacedName) { poll.Refresh() }}
}

// fetchAll converts the values of a fetch to values of any type.
func fetchAll[V any](fetch func(context.Context) (map[client.ObjectKey]V, error)) polled.FetchAll {
	return func(ctx context.Context) (map[types.NamespacedName]any, error) {
		fetched, err := fetch(ctx)
		values := make(map[types.NamespacedName]any, len(fetched))
		for name, value := range fetched {
			values[name] = value
		}
		return values, err
	}
}

// PollOptions configure an event source that asks for the value of each component.
type PollOptions[T client.Object, V any] struct {
	// Fetch returns the value for a component, which is read from the cache. It must not change the component. Required.
	Fetch func(ctx context.Context, component T) (V, error)
	// After returns the delay before the next fetch. Zero or less means that no further fetch is due until Refresh is
	// called or Key changes. Required.
	After func(component T, value V) time.Duration
	// When reports whether a component has a value at all. Nil means that each component has one. When and Key are called
	// at the start of each pass, so they must not wait.
	When func(component T) bool
	// Key identifies what is fetched for a component, such as an address in its spec. When it changes, the previous
	// value is forgotten, and the next pass waits for the new one. Nil means that it never changes.
	Key func(component T) string
	// Timeout is the deadline of a fetch; 30 seconds by default.
	Timeout time.Duration
}

// PollingEach returns an event source that asks for the value of each component. At most 16 fetches run at the same
// time. The first fetches, after a start and of a new component, are due at once, because passes wait for them. Later
// ones are spread evenly over the interval, with jitter.
func PollingEach[T client.Object, V any](name string, o PollOptions[T, V]) *Values[T, V] {
	each := polled.EachOptions{
		Timeout: o.Timeout,
		Fetch: func(ctx context.Context, obj client.Object) (any, error) {
			component, err := componentOf[T](obj)
			if err != nil {
				return nil, err
			}
			return o.Fetch(ctx, component)
		},
		After: func(obj client.Object, value any) time.Duration {
			component, err := componentOf[T](obj)
			fetched, ok := value.(V)
			if err != nil || !ok {
				return 0
			}
			return o.After(component, fetched)
		},
	}
	if o.When != nil {
		each.When = func(obj client.Object) bool {
			component, err := componentOf[T](obj)
			return err == nil && o.When(component)
		}
	}
	if o.Key != nil {
		each.Key = func(obj client.Object) string {
			component, err := componentOf[T](obj)
			if err != nil {
				return ""
			}
			return o.Key(component)
		}
	}
	poll := polled.NewPollEach(each)
	return &Values[T, V]{name: name, source: poll, refresh: poll.Refresh}
}

func componentOf[T client.Object](obj client.Object) (T, error) {
	component, ok := obj.(T)
	if !ok {
		return component, fmt.Errorf("a component has the type %T", obj)
	}
	return component, nil
}
