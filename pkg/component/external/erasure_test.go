package external_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-io/fairlead/pkg/component/external"
)

func TestInfoSaysWhatAKindCanDo(t *testing.T) {
	defaults := external.Info{
		Kind: "Record", Timeout: 30 * time.Second, Poll: time.Minute, Settle: 5 * time.Second, Concurrency: 4, Rate: 10,
		Burst: 20,
	}
	all := defaults
	all.Creates, all.Updates, all.Deletes, all.Finds, all.Lists, all.Settle = true, true, true, true, true, 0
	identified := defaults
	identified.Creates, identified.Identifies, identified.Poll = true, true, time.Hour
	for _, c := range []struct {
		driver external.Driver
		want   external.Info
	}{
		{external.Of("Record", observer{}, external.Options[recordSpec]{}), defaults},
		{external.Of("Record", full{}, external.Options[recordSpec]{Settle: -1}), all},
		{external.Of("Record", named{}, external.Options[recordSpec]{Poll: time.Hour}), identified},
	} {
		if got := c.driver.Info(); got != c.want {
			t.Errorf("want %+v, got %+v", c.want, got)
		}
	}
}

// mistaken has methods with the names of the optional interfaces, and other signatures.
type mistaken struct{ observer }

func (mistaken) Create(context.Context, external.Ref[recordSpec]) (*record, error) { return nil, nil }
func (*mistaken) Delete(context.Context, external.Ref[recordSpec]) error           { return nil }

func TestMistakesInRegistrations(t *testing.T) {
	of := func(kind string, o external.Options[recordSpec]) external.Driver {
		return external.Of(kind, full{&zone{}}, o)
	}
	for _, c := range []struct {
		drivers []external.Driver
		want    []string
	}{
		{drivers: []external.Driver{of("Record", external.Options[recordSpec]{}), of("Zone", external.Options[recordSpec]{
			IdempotentFor: time.Hour,
		})}},
		{[]external.Driver{nil}, []string{"external driver 1 is nil"}},
		{[]external.Driver{of("A", external.Options[recordSpec]{}), of("A", external.Options[recordSpec]{})}, []string{
			"external kind A: two drivers handle it",
		}},
		{[]external.Driver{of("record", external.Options[recordSpec]{}), of("A-b", external.Options[recordSpec]{})}, []string{
			"external kind record: the name of the kind must begin with a capital letter",
			"external kind A-b: the name of the kind must",
		}},
		{[]external.Driver{of("A"+strings.Repeat("a", 63), external.Options[recordSpec]{})}, []string{"at most 63"}},
		{
			[]external.Driver{of("A", external.Options[recordSpec]{
				Timeout: 30, Poll: -time.Second, Settle: 2 * time.Hour, IdempotentFor: -1, Concurrency: -1,
				Rate: math.NaN(), Burst: -2,
			})},
			[]string{
				"external kind A: Timeout is 30ns; set a time from 1ms to 1h0m0s", "Poll is -1s", "Settle is 2h0m0s",
				"IdempotentFor is -1ns", "Concurrency is -1", "Rate is NaN", "Burst is -2",
			},
		},
		{[]external.Driver{external.Of("A", observer{}, external.Options[recordSpec]{IdempotentFor: time.Hour})}, []string{
			"IdempotentFor is set, but the kind has no Create",
		}},
		{[]external.Driver{external.Of[recordSpec, *record]("A", nil, external.Options[recordSpec]{})}, []string{
			"external kind A: the Kind is nil",
		}},
		{[]external.Driver{external.Of[recordSpec, *record]("A", mistaken{}, external.Options[recordSpec]{})}, []string{
			"method Create of external_test.mistaken does not implement external.Creator[S, O]",
			"method Delete of external_test.mistaken does not implement external.Deleter[S]; correct its signature " +
				"or its receiver",
		}},
	} {
		err := external.Validate(c.drivers...)
		if (err == nil) != (len(c.want) == 0) {
			t.Errorf("want %q, got %v", c.want, err)
		}
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("want %q, got %v", want, err)
			}
		}
	}
}

func TestCheck(t *testing.T) {
	type nested struct {
		recordSpec `json:",inline"`

		Inner []recordSpec `json:"inner"`
	}
	drivers := map[string]external.Driver{
		"full": external.Of("Record", full{&zone{}}, external.Options[recordSpec]{
			Account: func(r external.Ref[recordSpec]) string { return "account of " + r.Spec.Host },
		}),
		"named": external.Of("Record", named{&zone{}}, external.Options[recordSpec]{}),
		"observer": external.Of("Record", kindFunc[nested, any](
			func(context.Context, external.Ref[nested]) (any, error) { return "", nil }), external.Options[nested]{}),
		"panics": external.Of("Record", observer{&zone{}}, external.Options[recordSpec]{
			Account: func(r external.Ref[recordSpec]) string { return r.Spec.Values[3] },
		}),
		"nonsense": external.Of("Record", observer{&zone{}}, external.Options[recordSpec]{
			Account: func(external.Ref[recordSpec]) string { return "a\nb" },
		}),
	}
	for name, c := range map[string]struct {
		driver, spec, applied string
		want                  external.Findings
		invalid               []string
	}{
		"a valid spec":     {driver: "full", spec: `{"host":"a"}`, want: external.Findings{Account: "account of a"}},
		"an identified id": {driver: "named", spec: `{"host":"a"}`, want: external.Findings{ID: "a"}},
		"a field that cannot be changed": {
			driver: "full", spec: `{"host":"a"}`, applied: `{"host":"b","ttl":1}`,
			want: external.Findings{Account: "account of a", Immutable: []string{"spec.host"}},
		},
		"an applied spec with a field of an older version": {
			driver: "full", spec: `{"host":"a"}`, applied: `{"host":"a","class":"IN"}`,
			want: external.Findings{Account: "account of a"},
		},
		"no change can be made without an Updater": {
			driver: "named", spec: `{"host":"a","values":["1"],"ttl":5}`, applied: `{"host":"a","ttl":5,"values":[]}`,
			want: external.Findings{ID: "a", Immutable: []string{"spec.values"}},
		},
		"unknown fields, also in lists": {
			driver: "observer", spec: `{"inner":[{"host":"a","tll":5}],"Host":"b"}`,
			invalid: []string{`unknown field "spec.inner[0].tll"`, `unknown field "spec.Host"`},
		},
		"a duplicate field": {
			driver: "observer", spec: `{"host":"a","host":"b"}`,
			invalid: []string{`duplicate field "spec.host"`},
		},
		"a value of another type": {
			driver: "observer", spec: `{"inner":[{"ttl":"5m"}]}`,
			invalid: []string{"spec.inner.ttl: it is of type string; want int"},
		},
		"a spec that is no map": {driver: "observer", spec: `["a"]`, invalid: []string{"spec: it is of type array; want"}},
		"no spec":               {driver: "full", spec: ``, want: external.Findings{Account: "account of "}},
		"an author's rule": {
			driver: "full", spec: `{"host":"*.hunter2","tll":5}`, want: external.Findings{Account: "account of *.hunter2"},
			invalid: []string{"spec.host: wildcards are not supported", `unknown field "spec.tll"`},
		},
		"an empty identity": {
			driver: "named", spec: `{}`,
			invalid: []string{"the result of Identify: the id of the external is empty"},
		},
		"an identity that cannot be printed": {
			driver: "named", spec: `{"host":"a\u0007"}`, invalid: []string{"has characters that cannot be printed"},
		},
		"a panic": {
			driver: "panics", spec: `{}`,
			invalid: []string{"panicked: runtime error: index out of range [3]", "(erasure_test.go:"},
		},
		"an account with a line break": {driver: "nonsense", spec: `{}`, invalid: []string{"Options.Account returned"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := drivers[c.driver].Check(requestFor("", c.spec, c.applied))
			for _, want := range c.invalid {
				if got.Invalid == nil || !strings.Contains(got.Invalid.Error(), want) {
					t.Errorf("want %q, got %v", want, got.Invalid)
				}
			}
			if got.Invalid != nil && len(c.invalid) == 0 {
				t.Errorf("got %v", got.Invalid)
			}
			if got.ID != c.want.ID || got.Account != c.want.Account || !slices.Equal(got.Immutable, c.want.Immutable) {
				t.Errorf("want %+v, got %+v", c.want, got)
			}
		})
	}
}

// picky cannot be null.
type picky struct{ text string }

func (p *picky) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return errors.New("it must not be null")
	}
	return json.Unmarshal(text, &p.text)
}

func TestCheckOfASpecWithUnknownValues(t *testing.T) {
	type nested struct {
		recordSpec `json:",inline"`

		Inner []recordSpec     `json:"inner"`
		Picky map[string]picky `json:"picky"`
	}
	driver := external.Of("Record", kindFunc[nested, any](
		func(context.Context, external.Ref[nested]) (any, error) { return "", nil }), external.Options[nested]{})
	named := external.Of("Record", named{&zone{}}, external.Options[recordSpec]{})
	for name, c := range map[string]struct {
		driver     external.Driver
		spec, want string
	}{
		"a value of any type": {
			driver, `{"host":null,"ttl":null,"inner":[null,{"values":[null]}]}`,
			"",
		},
		"a spec":                         {driver, `null`, ""},
		"a value that a rule would need": {named, `{"host":null}`, ""},
		"an unknown field":               {driver, `{"hots":null}`, `unknown field "spec.hots"`},
		"an unknown field in a list": {
			driver, `{"inner":[{"host":null,"tll":5}]}`,
			`unknown field "spec.inner[0].tll"`,
		},
		"a value of a type that cannot be null":        {driver, `{"picky":{"a":null}}`, ""},
		"an unknown field beside such a value":         {driver, `{"picky":{"a":null},"tll":5}`, `unknown field "spec.tll"`},
		"a known value of another type, checked later": {driver, `{"host":null,"ttl":"5m"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := requestFor("", c.spec, "")
			r.Partial = true
			got := c.driver.Check(r)
			if c.want == "" && got.Invalid != nil || c.want != "" && (got.Invalid == nil ||
				!strings.Contains(got.Invalid.Error(), c.want)) {
				t.Errorf("got %v, want %q", got.Invalid, c.want)
			}
		})
	}
}

// kindFunc is a kind with Observe alone.
type kindFunc[S, O any] func(context.Context, external.Ref[S]) (O, error)

func (f kindFunc[S, O]) Observe(ctx context.Context, r external.Ref[S]) (O, error) { return f(ctx, r) }

// creatorFunc is a kind with Create.
type creatorFunc[S, O any] struct {
	kindFunc[S, O]

	create func(context.Context, external.Ref[S]) (external.Created[O], error)
}

func (f creatorFunc[S, O]) Create(ctx context.Context, r external.Ref[S]) (external.Created[O], error) {
	return f.create(ctx, r)
}

func hostOf(r *record) string { return r.Host }

// broken is an error whose text cannot be read.
type broken struct{ *record }

func (b broken) Error() string { return b.Host }

func TestNonsenseOfAKindIsAnError(t *testing.T) {
	long := strings.Repeat("é", 5000)
	for name, c := range map[string]struct {
		observe func() (any, error)
		want    string
		is      error
	}{
		"a panic": {
			func() (any, error) { panic("hunter2 " + long) },
			"Observe panicked: (redacted) éé", nil,
		},
		"a nil pointer that is used": {func() (any, error) { return hostOf(nil), nil }, "(erasure_test.go:", nil},
		"no state": {func() (any, error) {
			return nil,
				nil
		}, "there is neither an observed state nor an error", nil},
		"a nil pointer": {func() (any, error) {
			return (*record)(nil),
				nil
		}, "there is neither an observed state nor an error", nil},
		"no JSON": {func() (any, error) {
			return math.Inf(1),
				nil
		}, "the observed state cannot be converted to JSON", nil},
		"too much": {func() (any, error) {
			return strings.Repeat("a", 256<<10),
				nil
		}, "the observed state has 262146 bytes; the limit is 262144", nil},
		"a broken error": {func() (any, error) {
			return nil,
				broken{}
		}, "Observe panicked: runtime error: invalid memory address", nil},
		"a broken refusal": {func() (any, error) { return nil, &external.RefusedError{} }, "Observe panicked", nil},
		"a long error":     {func() (any, error) { return nil, errors.New(long) }, "éé…", nil},
		"an error with a code": {func() (any, error) {
			return nil,
				errors.New("password hunter2\xff")
		}, "password (redacted)\uFFFD", nil},
		"not found": {func() (any, error) {
			return nil, fmt.Errorf("a: %w",
				external.ErrNotFound)
		}, "a: the external does not exist", external.ErrNotFound},
		"exists": {func() (any, error) { return nil, external.ErrExists }, "exists already", nil},
		"the end of the goroutine": {func() (any, error) {
			runtime.Goexit()
			return nil,
				nil
		}, "Observe ended its goroutine", nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := external.Of("Any", kindFunc[any, any](func(context.Context, external.Ref[any]) (any, error) {
				return c.observe()
			}), external.Options[any]{})
			_, err := d.Observe(t.Context(), requestFor("1", "{}", ""))
			if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 1100 ||
				strings.Contains(err.Error(), "hunter2") {
				t.Fatalf("want %q, got %v", c.want, err)
			}
			for _, meaning := range []error{external.ErrNotFound, external.ErrExists} {
				if errors.Is(err, meaning) != errors.Is(c.is, meaning) {
					t.Errorf("got %v as %v", err, meaning)
				}
			}
		})
	}
}

func TestErrorsKeepTheirMeaning(t *testing.T) {
	for name, c := range map[string]struct {
		err       error
		refused   bool
		temporary bool
		after     time.Duration
		exists    bool
	}{
		"an unknown result": {err: errors.New("a")},
		"refused":           {err: fmt.Errorf("b: %w", external.Refused(errors.New("hunter2"))), refused: true},
		"refused for a while": {
			err: external.RefusedFor(errors.New("a"), time.Second), refused: true, temporary: true,
			after: time.Second,
		},
		"refused, with a negative": {
			err:     &external.RefusedError{Cause: errors.New("a"), Temporary: true, After: -1},
			refused: true, temporary: true,
		},
		"exists":    {err: external.ErrExists, exists: true},
		"not found": {err: external.ErrNotFound},
	} {
		d := external.Of("Any", creatorFunc[any, any]{create: func(
			context.Context, external.Ref[any],
		) (external.Created[any], error) {
			return external.Created[any]{ID: "1", Observed: "a"}, c.err
		}}, external.Options[any]{})
		_, err := d.Create(t.Context(), requestFor("", "{}", ""))
		refused, is := errors.AsType[*external.RefusedError](err)
		if err == nil || is != c.refused || is && (refused.Temporary != c.temporary || refused.After != c.after) ||
			errors.Is(err, external.ErrExists) != c.exists || errors.Is(err, external.ErrNotFound) ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %#v", name, err)
		}
	}
}

func TestACreatedExternalIsNotLost(t *testing.T) {
	huge := strings.Repeat("a", 256<<10)
	for name, c := range map[string]struct {
		created external.Created[any]
		want    external.Answer
		err     string
	}{
		"as it should be": {
			created: external.Created[any]{ID: "1", State: []byte("s"), Observed: map[string]any{"b": 1, "a": "<"}},
			want:    external.Answer{ID: "1", State: []byte("s"), Observed: []byte(`{"a":"\u003c","b":1}`), Ready: true},
		},
		"without an observed state": {
			created: external.Created[any]{ID: "1", State: []byte("s")},
			want: external.Answer{
				ID: "1", State: []byte("s"), PollAfter: time.Second,
				Message: "the state that Create observed cannot be used: there is neither an observed state nor an error",
			},
		},
		"with an observed state that is too large": {
			created: external.Created[any]{ID: "1", Observed: huge},
			want: external.Answer{
				ID: "1", PollAfter: time.Second,
				Message: "the state that Create observed cannot be used: the observed state has 262146 bytes; the limit is 262144",
			},
		},
		"without an id": {created: external.Created[any]{Observed: 1}, err: "the id of the external is empty"},
		"with a long id": {
			created: external.Created[any]{ID: huge, Observed: 1},
			err:     "the id of the external has 262144 bytes; the limit is 1024",
		},
		"with a state that is too large": {
			created: external.Created[any]{ID: "1", State: []byte(huge)},
			err:     "the state of the external has 262144 bytes; the limit is 65536",
		},
	} {
		d := external.Of("Any", creatorFunc[any, any]{create: func(
			context.Context, external.Ref[any],
		) (external.Created[any], error) {
			return c.created, nil
		}}, external.Options[any]{})
		got, err := d.Create(t.Context(), requestFor("", "", ""))
		if !reflect.DeepEqual(got, c.want) || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(),
			c.err) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
		if _, refused := errors.AsType[*external.RefusedError](err); refused {
			t.Errorf("%s: the external exists, but the call is refused", name)
		}
	}
}

func TestACallThatDoesNotReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		var creates atomic.Int32
		d := external.Of("Any", creatorFunc[any, any]{
			kindFunc: func(context.Context, external.Ref[any]) (any, error) { return "a", nil },
			create: func(context.Context, external.Ref[any]) (external.Created[any], error) {
				creates.Add(1)
				<-hang
				return external.Created[any]{ID: "1", Observed: "a"}, nil
			},
		}, external.Options[any]{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := d.Create(ctx, requestFor("", "{}", ""))
		if _, refused := errors.AsType[*external.RefusedError](err); refused || !errors.Is(err, context.DeadlineExceeded) ||
			!strings.Contains(err.Error(), "Create did not return at its time-out") {
			t.Fatalf("got %v", err)
		}
		_, err = d.Create(t.Context(), requestFor("", "{}", ""))
		if refused, ok := errors.AsType[*external.RefusedError](err); !ok || !refused.Temporary || creates.Load() != 1 ||
			!strings.Contains(err.Error(), "an earlier call of Create does not return") {
			t.Errorf("got %v after %d creates", err, creates.Load())
		}
		other := requestFor("2", "{}", "")
		other.Token = "other"
		if _, err := d.Observe(t.Context(), other); err != nil {
			t.Errorf("another external: %v", err)
		}
		close(hang)
		synctest.Wait()
		if _, err := d.Create(t.Context(), requestFor("", "{}", "")); err != nil || creates.Load() != 2 {
			t.Errorf("after the call returned: %v", err)
		}
	})
}

func TestAResultJustAfterTheTimeOutCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := external.Of("Any", creatorFunc[any, any]{
			create: func(ctx context.Context, _ external.Ref[any]) (external.Created[any], error) {
				<-ctx.Done()
				return external.Created[any]{ID: "1", Observed: "a"}, nil
			},
		}, external.Options[any]{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if got, err := d.Create(ctx, requestFor("", "{}", "")); err != nil || got.ID != "1" {
			t.Errorf("got %+v, %v", got, err)
		}
		_, err := d.Create(ctx, requestFor("", "{}", ""))
		if _, refused := errors.AsType[*external.RefusedError](err); !refused {
			t.Errorf("with a context that is done: %v", err)
		}
	})
}
