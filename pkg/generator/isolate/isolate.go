package isolate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/internal/backoff"
	"github.com/fairlead-io/fairlead/internal/budget"
	"github.com/fairlead-io/fairlead/internal/turn"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// Defaults of Options.
const (
	// DefaultMinProcesses and DefaultMaxProcesses are the bounds of the default of Options.Processes.
	DefaultMinProcesses = 2
	DefaultMaxProcesses = 4
	// DefaultMemory is enough for the largest public charts several times over.
	DefaultMemory     = 512 << 20
	DefaultTimeout    = time.Minute
	DefaultLookups    = 10_000
	DefaultRenderings = 1000
)

// Options configure a Generator. Zero values select the defaults.
type Options struct {
	// Processes is the maximum number of children, and so of renderings at the same time. Further requests wait. The
	// namespace of components that has used the least time is next. Renderings of more than 2 seconds use all processes
	// except one while other namespaces wait; so a single process has no room for others beside a long rendering. The
	// default is GOMAXPROCS, but at least DefaultMinProcesses and at most DefaultMaxProcesses.
	Processes int
	// Memory is the memory of a child in bytes. A child that needs more ends.
	Memory int64
	// Timeout is the maximum time of a rendering. The time in which a request waits for a child does not count.
	Timeout time.Duration
	// Lookups is the maximum number of questions of one rendering, such as look-ups. Their answers may have a quarter of
	// Memory in total.
	Lookups int
	// Renderings is the number of renderings after which a child is replaced.
	Renderings int
	// Scheme contains the types of the components. It is required if requests have a component.
	Scheme *apiruntime.Scheme
	// Outside are the generators that are called in this process, by name; see Outside.
	Outside map[string]generator.Generator
}

func (o Options) withDefaults() Options {
	o.Processes = cmp.Or(max(o.Processes, 0), max(DefaultMinProcesses, min(runtime.GOMAXPROCS(0), DefaultMaxProcesses)))
	o.Memory = cmp.Or(max(o.Memory, 0), DefaultMemory)
	o.Timeout = cmp.Or(max(o.Timeout, 0), DefaultTimeout)
	o.Lookups = cmp.Or(max(o.Lookups, 0), DefaultLookups)
	o.Renderings = cmp.Or(max(o.Renderings, 0), DefaultRenderings)
	return o
}

// Generator renders with another generator in child processes.
type Generator struct {
	inner   generator.Generator
	options Options
	codec   codec
	spawner *spawner
	line    *line

	mu     sync.Mutex
	idle   []*process
	closed bool
	// failures is the number of children in a row that could not be started.
	failures int
	// reported is set when the measures that the system lacks were logged.
	reported bool
}

var (
	_ generator.Generator = (*Generator)(nil)
	_ generator.Versioner = (*Generator)(nil)
	_ generator.Prover    = (*Generator)(nil)
)

// New returns a generator that renders as inner does, in child processes. The program must call Main, whose generator
// is used in the children; inner is only asked for its version. A child is started when a request needs it. The
// children end with this process, and with Close.
//
// A deadline of the context bounds the time in line for a child; Options.Timeout bounds the rendering. If the context
// is cancelled, the rendering is killed.
func New(inner generator.Generator, o Options) (*Generator, error) {
	codec, err := newCodec()
	if err != nil {
		return nil, err
	}
	o = o.withDefaults()
	return &Generator{
		inner: inner, options: o, codec: codec, spawner: newSpawner(), line: newLine(o.Processes, clock.RealClock{}),
	}, nil
}

// Version returns the version of the inner generator.
func (g *Generator) Version() string { return generator.VersionOf(g.inner) }

// Close ends all children. Renderings that are running fail, and so do later ones.
func (g *Generator) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return
	}
	g.closed = true
	for _, p := range g.idle {
		p.kill()
	}
	g.idle = nil
	g.spawner.close()
}

// Generate renders in a child.
func (g *Generator) Generate(ctx context.Context, req generator.Request) ([]client.Object, error) {
	objects, _, err := g.Prove(ctx, req)
	return objects, err
}

// Prove renders in a child, and proves what the generator there proves.
func (g *Generator) Prove(ctx context.Context, req generator.Request) ([]client.Object, bool, error) {
	o, err := g.render(ctx, req)
	if err != nil {
		return nil, false, err
	}
	if o.Notes != "" {
		req.Noted(o.Notes)
	}
	return objectsOf(o.Objects), o.Proven, nil
}

// render renders in a child, or returns the error of the rendering. A rendering that was stopped because others wait is
// made again; with a turn.Turn in the context, the error is turn.ErrLater instead.
func (g *Generator) render(ctx context.Context, req generator.Request) (*outcome, error) {
	job, err := jobOf(req, g.options.Scheme)
	if err != nil {
		return nil, err
	}
	namespace, component := "", req.Namespace+"/"+req.Name
	if req.Component != nil {
		namespace = req.Component.GetNamespace()
		component = namespace + "/" + req.Component.GetName()
	}
	at, err := g.line.enter(ctx, namespace, component)
	for err == nil {
		var o *outcome
		switch o, err = g.attempt(ctx, at, req, job); {
		case !errors.Is(err, errStopped):
			return o, err
		case at.turn != nil:
			return nil, turn.ErrLater
		}
		err = g.line.await(ctx, at)
	}
	if errors.Is(err, turn.ErrLater) {
		return nil, err
	}
	return nil, busyError{err}
}

// attempt renders once, with a place in the line. The error is errStopped if the rendering was stopped because others
// wait.
func (g *Generator) attempt(
	ctx context.Context, at *place, req generator.Request, j *job,
) (o *outcome, err error) {
	defer func() { g.line.leave(at, errors.Is(err, errStopped)) }()
	p, err := g.take(ctx, at.component)
	if err != nil {
		return nil, err
	}
	ctx, cancel := g.bounded(ctx)
	defer cancel(nil)
	g.line.begin(at, cancel, p.lower)
	c := &conversation{options: g.options, codec: g.codec, request: req, process: p, errors: map[uint64]error{}}
	o, err = c.run(ctx, j)
	cause := context.Cause(ctx)
	if budget.Refused(err) {
		// The child did nothing wrong, but it may have sent more than this process has read.
		p.kill()
		return nil, err
	}
	if err != nil {
		p.kill()
		return nil, p.causeOf(cause, err)
	}
	if cause != nil {
		// The rendering was complete when the child was killed.
		p.kill()
	} else {
		g.give(p, at.component, o.Memory)
	}
	return o, c.finish(ctx, o)
}

// errTimeout is the cause of the end of a rendering that took too long.
var errTimeout = errors.New("timeout")

// bounded returns a context that ends after the maximum time of a rendering, or when ctx is cancelled. The deadline of
// ctx does not apply, because a part of it may have passed in line.
func (g *Generator) bounded(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	rendering, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stopped := context.AfterFunc(ctx, func() {
		if errors.Is(ctx.Err(), context.Canceled) {
			cancel(context.Cause(ctx))
		}
	})
	timer := time.AfterFunc(g.options.Timeout, func() { cancel(errTimeout) })
	return rendering, func(cause error) {
		stopped()
		timer.Stop()
		cancel(cause)
	}
}

// take returns an idle child, if possible the child that rendered the component last, whose caches are warm. Without an
// idle child it starts one.
func (g *Generator) take(ctx context.Context, component string) (*process, error) {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return nil, errors.New("isolate: the generator is closed")
	}
	for len(g.idle) > 0 {
		chosen := len(g.idle) - 1
		for i, p := range g.idle {
			if p.last == component {
				chosen = i
			}
		}
		p := g.idle[chosen]
		g.idle = append(g.idle[:chosen], g.idle[chosen+1:]...)
		if p.isAlive() {
			g.mu.Unlock()
			return p, nil
		}
	}
	failures := g.failures
	g.mu.Unlock()
	return g.start(ctx, failures)
}

// Delays before a child is started after several children in a row could not be started. Children that died in a
// rendering do not count, because the delay would hold up the components of others.
const (
	freeFailures = 3
	firstDelay   = 100 * time.Millisecond
	lastDelay    = 6400 * time.Millisecond
)

// start starts a child. After several failures in a row it waits first.
func (g *Generator) start(ctx context.Context, failures int) (*process, error) {
	if failures > freeFailures {
		select {
		case <-ctx.Done():
			return nil, busyError{ctx.Err()}
		case <-time.After(backoff.Backoff{First: firstDelay, Last: lastDelay}.After(failures - freeFailures)):
		}
	}
	p, r, err := startProcess(ctx, g.spawner, g.codec, g.options)
	if err != nil {
		g.mu.Lock()
		g.failures++
		g.mu.Unlock()
		return nil, busyError{fmt.Errorf("start a process for the rendering: %w", err)}
	}
	g.mu.Lock()
	g.failures = 0
	first := !g.reported
	g.reported = true
	g.mu.Unlock()
	if first && len(r.Missing) > 0 {
		log.FromContext(ctx).Info("renderings are not confined completely, because the system lacks some measures",
			"missing", r.Missing)
	}
	return p, nil
}

// Limits above which a child is replaced after a rendering.
const (
	// slowRendering is a time after which an engine may have left work behind that cannot be interrupted.
	slowRendering = 10 * time.Second
	// memoryShare is the part of the memory that a child may hold between two renderings: one half.
	memoryShare = 2
)

// give returns a child after a complete rendering. A child that has rendered often, took long or holds much memory is
// replaced, as is one with a lower priority, which no unprivileged process can raise again.
func (g *Generator) give(p *process, component string, memory uint64) {
	p.renderings++
	p.last = component
	slow := p.elapsed() > slowRendering || p.lowered.Load()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || slow || p.renderings >= g.options.Renderings || memory > uint64(g.options.Memory)/memoryShare {
		p.kill()
		return
	}
	g.idle = append(g.idle, p)
}

// busyError is the error of a request that got no child. It is retried.
type busyError struct{ cause error }

// Error implements error.
func (e busyError) Error() string {
	return fmt.Sprintf("no process is free for the rendering: %v", e.cause)
}

// Unwrap returns the cause.
func (e busyError) Unwrap() error { return e.cause }

// RetryAfter lets the back-off determine the delay.
func (e busyError) RetryAfter() time.Duration { return 0 }
