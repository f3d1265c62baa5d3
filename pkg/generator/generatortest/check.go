package generatortest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/internal/authorcode"
	"github.com/fairlead-io/fairlead/internal/validate/builtin"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// Options configures Check. The zero value is usable for objects without settings.
type Options struct {
	// Reconciler is the name of the reconciler, with which the settings of the objects are checked. It is needed as soon
	// as an object has settings.
	Reconciler string
	// Externals are the handlers of externals, as in component.Options.
	Externals []external.Driver
	// Conditions are the names of the conditions in Go, as in Reconciler.WithCondition.
	Conditions []string
	// GeneratedValues permits values that differ in each rendering, such as a random password or a certificate. The
	// reconciler keeps the values of the first rendering. Objects, fields and the lengths of lists must not differ.
	GeneratedValues bool

	// Timeout is the maximum duration of a rendering. The default is a minute, as in a reconciler.
	Timeout time.Duration
	// MaxObjects is the maximum number of objects; generator.DefaultMaxObjects by default.
	MaxObjects int
}

// atOnce is the number of concurrent renderings.
const atOnce = 8

// Check fails a test if a generator violates the contract of a reconciler; see Verify.
func Check(t testing.TB, g generator.Generator, o Options, requests ...generator.Request) {
	t.Helper()
	if err := Verify(t.Context(), g, o, requests...); err != nil {
		t.Error(err)
	}
}

// Verify calls a generator with each request, and returns an error for each violation of the contract between
// generators and the reconciler. The errors are joined, and each error names the remedy. The generator must be able to
// render all requests. Verify checks these rules:
//
//   - A second rendering of a request, also with another time in the request, returns equal objects in the same order;
//     see Options.GeneratedValues.
//   - Renderings share no state. Concurrent renderings, renderings of other requests in between, and changes of the
//     returned objects do not change the result.
//   - The generator does not change the request.
//   - If the context ends before the rendering or during a look-up, Generate returns the error of the context.
//   - Generate returns within the timeout, does not panic, and returns no more objects than the limit.
//   - Every object has apiVersion, kind and name, and can be encoded as JSON.
//   - The reconciler would accept the set: no object is returned twice, the names and values of settings are right, CEL
//     expressions compile, orders, dependencies, exports and holes do not contradict each other, and externals have a
//     registered kind and a valid spec.
//   - An API server would accept every object, as far as its name, its labels, its size and the schema of its type
//     show. Types that are neither built in nor defined by the objects are accepted.
//
// A request without capabilities gets those of a cluster that serves the built-in types.
//
// Run the test with the race detector (go test -race), which finds further shared state. If the generator calls a
// service, as package function does, the service must be running.
func Verify(ctx context.Context, g generator.Generator, o Options, requests ...generator.Request) error {
	o.Timeout = cmp.Or(o.Timeout, time.Minute)
	o.MaxObjects = cmp.Or(o.MaxObjects, generator.DefaultMaxObjects)
	if len(requests) == 0 {
		return errors.New("no requests: pass at least one request that the generator can render")
	}
	requests = withCapabilities(requests)
	var errs []error
	for i, req := range requests {
		s := subject{generator: g, options: o, request: req, others: requests}
		for _, err := range s.verify(ctx) {
			errs = append(errs, fmt.Errorf("request %d (%s/%s): %w", i+1, req.Namespace, req.Name, err))
		}
	}
	return errors.Join(errs...)
}

// subject is a generator and the request that it is checked with.
type subject struct {
	generator generator.Generator
	options   Options
	request   generator.Request
	others    []generator.Request
}

func (s subject) verify(ctx context.Context) []error {
	before, err := snapshot(s.request)
	if err != nil {
		return []error{err}
	}
	objects, err := s.render(ctx, s.request)
	if err != nil {
		return []error{fmt.Errorf("the request cannot be rendered: %w", err)}
	}
	if errs := s.valid(objects); len(errs) > 0 {
		return errs
	}
	want, err := renderingOf(objects)
	if err != nil {
		return []error{err}
	}
	errs := []error{
		s.repeats(ctx, want),
		s.sharesNothing(ctx, objects, want),
		s.honoursContext(ctx),
		s.stopsLookingUp(ctx),
	}
	after, err := snapshot(s.request)
	errs = append(errs, err)
	if difference := gocmp.Diff(before, after); difference != "" {
		errs = append(
			errs,
			fmt.Errorf("the generator changed the request; change a copy instead (-before +after):\n%s", difference),
		)
	}
	return withoutNil(errs)
}

// withCapabilities returns the requests; those without capabilities get those of a cluster that serves the built-in
// types.
func withCapabilities(requests []generator.Request) []generator.Request {
	completed := slices.Clone(requests)
	for i := range completed {
		if c := &completed[i].Capabilities; c.APIVersions.IsEmpty() {
			c.APIVersions = generator.NewAPIVersions(builtin.Served()...)
		}
	}
	return completed
}

// render calls the generator with the timeout, and converts a panic to an error.
func (s subject) render(ctx context.Context, req generator.Request) ([]client.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	type outcome struct {
		objects []client.Object
		err     error
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() { done <- o }()
		o.objects, o.err = authorcode.Call("the generator", func() ([]client.Object, error) {
			return s.generator.Generate(ctx, req)
		})
	}()
	select {
	case o := <-done:
		return o.objects, o.err
	case <-time.After(2 * s.options.Timeout):
		return nil, fmt.Errorf(
			"the generator did not return within twice the timeout of %s; return the error of the context when it ends",
			s.options.Timeout,
		)
	}
}

func withoutNil(errs []error) []error {
	var found []error
	for _, err := range errs {
		if err != nil {
			found = append(found, err)
		}
	}
	return found
}
