package generatortest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

// Options configures Check. The zero value is usable.
type Options struct {
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
//   - A second rendering of a request, also with another time in the request, returns equal objects in the same order.
//   - Renderings share no state. Concurrent renderings, renderings of other requests in between, and changes of the
//     returned objects do not change the result.
//   - The generator does not change the request.
//   - If the context ends before the rendering or during a look-up, Generate returns the error of the context.
//   - Generate returns within the timeout, does not panic, and returns no more objects than the limit.
//   - Every object has apiVersion, kind and name, can be encoded as JSON, and is returned only once.
//   - An API server would accept every object, as far as its name, its labels, its size and the schema of its type show.
//     Types that are neither built in nor defined by the objects are accepted.
//
// Run the test with the race detector (go test -race), which finds further shared state. If the generator calls a
// service, as package function does, the service must be running.
func Verify(ctx context.Context, g generator.Generator, o Options, requests ...generator.Request) error {
	o.Timeout = cmp.Or(o.Timeout, time.Minute)
	o.MaxObjects = cmp.Or(o.MaxObjects, generator.DefaultMaxObjects)
	if len(requests) == 0 {
		return errors.New("no requests: pass at least one request that the generator can render")
	}
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
	want, err := textOf(objects)
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
		defer func() {
			if cause := recover(); cause != nil {
				o.err = fmt.Errorf("the generator panicked: %v", cause)
			}
			done <- o
		}()
		o.objects, o.err = s.generator.Generate(ctx, req)
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

// repeats renders the request again, also with another time, and compares the results.
func (s subject) repeats(ctx context.Context, want string) error {
	later := s.request
	later.Now = s.request.Now.AddDate(1, 2, 3).Add(4*time.Hour + 5*time.Minute + 6*time.Second)
	const advice = "use no random values, no clock, and no range over a map"
	if err := s.same(ctx, s.request, want, "a second rendering", advice); err != nil {
		return err
	}
	return s.same(ctx, later, want, "a rendering at another time", advice)
}

// same renders a request again and returns an error if the output differs from want.
func (s subject) same(ctx context.Context, req generator.Request, want, what, advice string) error {
	objects, err := s.render(ctx, req)
	if err != nil {
		return fmt.Errorf("%s fails: %w", what, err)
	}
	got, err := textOf(objects)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if difference := gocmp.Diff(want, got); difference != "" {
		return fmt.Errorf("%s differs; %s (-first +this):\n%s", what, advice, difference)
	}
	return nil
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
