package eventsources

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Set holds the event sources of a reconciler. The zero value is ready to use, and safe for concurrent use. A nil Set
// has no event sources.
type Set struct {
	mu     sync.Mutex
	scheme *runtime.Scheme
	run    context.Context
	host   Host
	byName map[string]*registered
}

// Use tells how the values of an event source are used.
type Use struct {
	// Input makes the values inputs of the rendering.
	Input bool
	// Secret is set if the values must not be shown.
	Secret bool
}

// Reconciler is the reconciler, of components of type T, that an event source is added to.
type Reconciler[T client.Object] struct {
	Set *Set
	// Kind returns the type of the components. It is known when the event sources run.
	Kind func() schema.GroupKind
	Use  Use
}

// Add adds an event source to the reconciler; see Set.Add.
func (r Reconciler[T]) Add(name string, source EventSource) (remove func(), err error) {
	return r.Set.Add(name, source, r.Use)
}

// registered is an event source of a Set.
type registered struct {
	EventSource
	name string
	use  Use
	// stop ends the event source; nil if it does not run.
	stop context.CancelFunc
	// answered is the time of the last answer, in nanoseconds since 1970.
	answered atomic.Int64
}

// Add adds an event source, and starts it if the Set runs. The returned function ends the event source and removes it.
func (s *Set) Add(name string, source EventSource, use Use) (remove func(), err error) {
	if errs := validation.IsDNS1123Label(name); len(errs) > 0 {
		return nil, fmt.Errorf("event source %q: %s", name, strings.Join(errs, "; "))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byName[name] != nil {
		return nil, fmt.Errorf("event source %q: another event source has this name; remove it, or choose another name", name)
	}
	if !source.Claim() {
		return nil, fmt.Errorf("event source %q: it was added before; make a new event source", name)
	}
	if err := s.prepare(name, source); err != nil {
		return nil, err
	}
	if s.byName == nil {
		s.byName = map[string]*registered{}
	}
	r := &registered{EventSource: source, name: name, use: use}
	s.byName[name] = r
	if s.run != nil {
		s.start(r)
		go s.introduce(r)
	}
	return sync.OnceFunc(func() { s.remove(r) }), nil
}

// prepare checks an event source against the Go types of the operator, if they are known. The caller holds the lock.
func (s *Set) prepare(name string, source EventSource) error {
	p, ok := source.(Preparer)
	if !ok || s.scheme == nil {
		return nil
	}
	if err := p.Prepare(s.scheme); err != nil {
		return fmt.Errorf("event source %q: %w", name, err)
	}
	return nil
}

// Prepare checks all event sources against the Go types of the operator. It must be called before Start.
func (s *Set) Prepare(scheme *runtime.Scheme) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scheme = scheme
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(s.byName)) {
		errs = append(errs, s.prepare(name, s.byName[name].EventSource))
	}
	return errors.Join(errs...)
}

// Start starts all event sources. They end with ctx.
func (s *Set) Start(ctx context.Context, h Host) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run, s.host = ctx, h
	for _, r := range s.byName {
		s.start(r)
	}
}

// start starts an event source. The caller holds the lock.
func (s *Set) start(r *registered) {
	ctx, stop := context.WithCancel(s.run)
	r.stop = stop
	go r.Run(ctx, s.host.Port(r.Kind(), r.name, &r.answered))
}

// introduce tells an event source that was added later which components exist. All of them need a pass, which gets the
// value if it is an input.
func (s *Set) introduce(r *registered) {
	for _, obj := range s.components() {
		s.mu.Lock()
		current := s.byName[r.name] == r
		s.mu.Unlock()
		if !current {
			return
		}
		// An event source that needs the target cluster of a component learns it in the next pass.
		r.Track(s.run, obj, nil)
		s.host.Wake(client.ObjectKeyFromObject(obj))
	}
}

func (s *Set) components() []client.Object {
	all, err := s.host.List(s.run)
	if err != nil && s.run.Err() == nil {
		log.FromContext(s.run).Info("components are told of an event source in their next pass", "cause", err.Error())
	}
	return all
}

// remove ends an event source, and starts passes over the components that saw it.
func (s *Set) remove(r *registered) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byName, r.name)
	if r.stop == nil {
		r.Run(ended{}, Host{}.Port(r.Kind(), r.name, &r.answered))
		return
	}
	go func() {
		defer r.stop()
		for _, obj := range s.components() {
			name := client.ObjectKeyFromObject(obj)
			if s.run.Err() == nil && (r.use.Input || r.State(name).Failure != "") {
				s.host.Wake(name)
			}
		}
	}()
}

// all returns the event sources, sorted by name.
func (s *Set) all() []*registered {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	names := slices.Sorted(maps.Keys(s.byName))
	list := make([]*registered, 0, len(names))
	for _, name := range names {
		list = append(list, s.byName[name])
	}
	return list
}

// Begin tells all event sources that a component exists. It reports whether the component has to wait for a first
// value.
func (s *Set) Begin(ctx context.Context, obj client.Object, clusters Clusters) (waits bool) {
	name := client.ObjectKeyFromObject(obj)
	for _, r := range s.all() {
		r.Track(ctx, obj, clusters)
		waits = waits || r.State(name).Waits
	}
	return waits
}

// Failure is an event source whose value is not current.
type Failure struct {
	EventSource string
	State
}

// Failures returns the event sources whose value for a component is not current.
func (s *Set) Failures(name types.NamespacedName) []Failure {
	var failures []Failure
	for _, r := range s.all() {
		if state := r.State(name); state.Failure != "" {
			failures = append(failures, Failure{EventSource: r.name, State: state})
		}
	}
	return failures
}

// NamedInput is an input of a rendering.
type NamedInput struct {
	Name string
	Input
}

// Inputs returns the inputs of a component, sorted by name. Inputs without a value are left out. The error names all
// inputs that cannot be read.
func (s *Set) Inputs(ctx context.Context, name types.NamespacedName) ([]NamedInput, error) {
	var inputs []NamedInput
	var errs []error
	for _, r := range s.all() {
		if !r.use.Input {
			continue
		}
		in, err := r.Input(ctx, name)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("input %s: %w", r.name, err))
		case in.Digest != "":
			in.Secret = in.Secret || r.use.Secret
			inputs = append(inputs, NamedInput{r.name, in})
		}
	}
	return inputs, errors.Join(errs...)
}

// HasInputs reports whether an event source is an input.
func (s *Set) HasInputs() bool {
	return slices.ContainsFunc(s.all(), func(r *registered) bool { return r.use.Input })
}

// Forget drops everything about a component.
func (s *Set) Forget(name types.NamespacedName) {
	for _, r := range s.all() {
		r.Forget(name)
	}
}
