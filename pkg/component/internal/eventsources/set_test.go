package eventsources_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources"
	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources/eventsourcestest"
)

// fixed is an event source whose value and state the test sets before it is added.
type fixed struct {
	eventsources.Once
	known   eventsources.State
	value   eventsources.Input
	err     error
	unfit   error
	runs    atomic.Int64
	runsNow atomic.Bool
	tracked atomic.Int64
	forgets atomic.Int64
}

func (f *fixed) Run(ctx context.Context, p *eventsources.Port) {
	f.runs.Add(1)
	f.runsNow.Store(ctx.Err() == nil)
	if ctx.Err() == nil {
		p.Answered(time.Now())
	}
	<-ctx.Done()
	f.runsNow.Store(false)
}

func (f *fixed) Track(context.Context, client.Object, eventsources.Clusters) { f.tracked.Add(1) }

func (f *fixed) State(types.NamespacedName) eventsources.State { return f.known }

func (f *fixed) Input(context.Context, types.NamespacedName) (eventsources.Input, error) {
	return f.value, f.err
}

func (f *fixed) Forget(types.NamespacedName) { f.forgets.Add(1) }

func (f *fixed) Kind() eventsources.Kind { return eventsources.KindPolling }

func (f *fixed) Size() (values, stale int) { return 3, 1 }

func (f *fixed) Prepare(*runtime.Scheme) error {
	return f.unfit
}

func TestAnEventSourceThatCannotBeAddedIsAnError(t *testing.T) {
	used := &fixed{}
	for _, c := range []struct {
		name, want string
		source     eventsources.EventSource
	}{
		{name: "Rates", source: &fixed{}, want: `event source "Rates": a lowercase RFC 1123 label`},
		{name: "rates", source: &fixed{}, want: `event source "rates": another event source has this name`},
		{name: "other", source: used, want: `event source "other": it was added before; make a new event source`},
		{name: "unfit", source: &fixed{unfit: errors.New("no type")}, want: `event source "unfit": no type`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var set eventsources.Set
			if err := set.Prepare(runtime.NewScheme()); err != nil {
				t.Fatal(err)
			}
			if _, err := set.Add("rates", used, eventsources.Use{}); err != nil && !strings.Contains(err.Error(),
				"added before") {
				t.Fatal(err)
			} else if err != nil {
				_, _ = set.Add("rates", &fixed{}, eventsources.Use{})
			}
			if _, err := set.Add(c.name, c.source, eventsources.Use{}); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestPrepareNamesAllEventSourcesThatDoNotFit(t *testing.T) {
	var set eventsources.Set
	for _, name := range []string{"b", "a"} {
		if _, err := set.Add(name, &fixed{unfit: errors.New("no type")}, eventsources.Use{}); err != nil {
			t.Fatal(err)
		}
	}
	const want = "event source \"a\": no type\nevent source \"b\": no type"
	if err := set.Prepare(runtime.NewScheme()); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestAnEventSourceRunsOnceUntilItIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, source := eventsourcestest.New(t), &fixed{}
		remove := r.Add(t, source)
		if source.runs.Load() != 1 || !source.runsNow.Load() {
			t.Error("the event source does not run")
		}
		remove()
		remove()
		synctest.Wait()
		if source.runs.Load() != 1 || source.runsNow.Load() {
			t.Error("the event source runs after it was removed")
		}
		if r.Set.HasInputs() {
			t.Error("a removed event source is an input")
		}
		r.Add(t, &fixed{}) // Its name is free again.
	})
}

func TestAnEventSourceThatIsRemovedBeforeTheStartRunsWithAnEndedContext(t *testing.T) {
	var set eventsources.Set
	source := &fixed{}
	remove, err := set.Add("rates", source, eventsources.Use{})
	if err != nil {
		t.Fatal(err)
	}
	remove()
	if source.runs.Load() != 1 || source.runsNow.Load() {
		t.Error("the event source was not ended")
	}
}

// all returns a Set that runs, with one component.
func all(t *testing.T) (*eventsourcestest.Reconciler, *eventsources.Set) {
	t.Helper()
	r, set := eventsourcestest.New(t), &eventsources.Set{}
	host := r.Host()
	host.List = func(context.Context) ([]client.Object, error) {
		return []client.Object{eventsourcestest.Named("a")}, nil
	}
	set.Start(r.Context, host)
	return r, set
}

func TestComponentsAreToldOfEventSourcesThatComeAndGo(t *testing.T) {
	for _, c := range []struct {
		name   string
		source *fixed
		use    eventsources.Use
		// atEnd is set if the component needs a pass after the event source was removed.
		atEnd bool
	}{
		{name: "an input", source: &fixed{}, use: eventsources.Use{Input: true}, atEnd: true},
		{name: "no input", source: &fixed{}},
		{name: "no input, with a failure", source: &fixed{known: eventsources.State{Failure: "down"}}, atEnd: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, set := all(t)
				remove, err := set.Add("rates", c.source, c.use)
				if err != nil {
					t.Fatal(err)
				}
				r.Expect(t, "a")
				if c.source.tracked.Load() != 1 {
					t.Error("the event source does not know the component")
				}
				remove()
				if c.atEnd {
					r.Expect(t, "a")
				} else {
					r.Expect(t)
				}
			})
		})
	}
}

func TestWhatASetTellsOfAComponent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, since := eventsourcestest.New(t), time.Now()
		sources := map[string]*fixed{
			"current": {value: eventsources.Input{Digest: "1"}},
			"absent":  {},
			"stale": {
				value: eventsources.Input{Digest: "2"}, known: eventsources.State{Failure: "down", Since: since},
			},
			"hidden": {value: eventsources.Input{Digest: "3", Secret: true}},
		}
		for name, source := range sources {
			if _, err := r.Set.Add(name, source, eventsources.Use{Input: true}); err != nil {
				t.Fatal(err)
			}
		}
		unused := &fixed{value: eventsources.Input{Digest: "4"}, known: eventsources.State{Waits: true}}
		if r.Set.Begin(t.Context(), eventsourcestest.Named("a"), nil) {
			t.Error("the pass waits although all event sources answered")
		}
		if _, err := r.Set.Add("unused", unused, eventsources.Use{}); err != nil {
			t.Fatal(err)
		}
		if !r.Set.Begin(t.Context(), eventsourcestest.Named("a"), nil) {
			t.Error("the pass does not wait for an event source without an answer")
		}
		inputs, err := r.Set.Inputs(t.Context(), eventsourcestest.Key("a"))
		var got []string
		for _, in := range inputs {
			got = append(got, in.Name+" "+in.Digest)
			if in.Secret != (in.Name == "hidden") {
				t.Errorf("%s: secret %t", in.Name, in.Secret)
			}
		}
		if want := []string{"current 1", "hidden 3", "stale 2"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("inputs %v, %v", got, err)
		}
		failures := r.Set.Failures(eventsourcestest.Key("a"))
		if len(failures) != 1 || failures[0].EventSource != "stale" || !failures[0].Since.Equal(since) {
			t.Errorf("failures %+v", failures)
		}
		r.Set.Forget(eventsourcestest.Key("a"))
		if unused.forgets.Load() != 1 {
			t.Error("an event source does not forget the component")
		}
		synctest.Wait()
		for _, count := range r.Set.Counts() {
			if count.Values != 3 || count.Stale != 1 || !count.Answered.Equal(since) {
				t.Errorf("count %+v", count)
			}
		}
	})
}

func TestAllInputsThatCannotBeReadAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := eventsourcestest.New(t)
		for _, name := range []string{"b", "a"} {
			if _, err := r.Set.Add(name, &fixed{err: eventsources.ErrNoValue}, eventsources.Use{Input: true}); err != nil {
				t.Fatal(err)
			}
		}
		_, err := r.Set.Inputs(t.Context(), eventsourcestest.Key("a"))
		if err == nil || err.Error() != "input a: no value yet\ninput b: no value yet" {
			t.Errorf("got %v", err)
		}
	})
}

func TestFixedInputsArePlainData(t *testing.T) {
	type region struct{ Name string }
	inputs, err := eventsources.Fixed{"b": 7, "a": region{"north"}}.Inputs(t.Context(), eventsourcestest.Key("a"))
	if err != nil || len(inputs) != 2 || inputs[0].Name != "a" || inputs[0].Digest == inputs[1].Digest {
		t.Fatalf("inputs %v, %v", inputs, err)
	}
	value, err := inputs[0].Load(t.Context())
	if plain, ok := value.(map[string]any); err != nil || !ok || plain["Name"] != "north" {
		t.Errorf("value %v, %v", value, err)
	}
	value, err = inputs[1].Load(t.Context())
	if number, ok := value.(int64); err != nil || !ok || number != 7 {
		t.Errorf("value %v of type %T, %v", value, value, err)
	}
	if _, err := (eventsources.Fixed{"c": make(chan int)}).Inputs(t.Context(), eventsourcestest.Key("a")); err == nil {
		t.Error("a value without a JSON form is accepted")
	}
}
