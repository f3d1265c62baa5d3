package isolate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-io/fairlead/internal/turn"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/isolate/internal/fair"
)

// queue is a line with a clock that the test moves.
type queue struct {
	t *testing.T
	*line
	clock *clocktesting.FakeClock

	// places are the admitted requests, woken the components whose turn has come, and lowered those whose process got a
	// lower priority, all by name.
	places  sync.Map
	mu      sync.Mutex
	woken   []string
	lowered []string
}

func newQueue(t *testing.T, processes int) *queue {
	t.Helper()
	c := stepped{clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))}
	return &queue{t: t, line: newLine(processes, c), clock: c.FakeClock}
}

// stepped is a fake clock that calls functions in goroutines of their own, as a real clock does.
type stepped struct{ *clocktesting.FakeClock }

func (s stepped) AfterFunc(d time.Duration, f func()) clock.Timer {
	return s.FakeClock.AfterFunc(d, func() { go f() })
}

// turn returns the turn of a component.
func (q *queue) turn(name string) *turn.Turn {
	return turn.New(func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.woken = append(q.woken, name)
	})
}

// waitFor waits until a condition holds. Goroutines of the test make it hold.
func (q *queue) waitFor(what string, holds func() bool) {
	q.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			q.t.Fatalf("%s did not happen: %s", what, q.phases())
		}
	}
}

// phases describes the line: the phase of each component, those with a process first.
func (q *queue) phases() string {
	q.line.mu.Lock()
	defer q.line.mu.Unlock()
	var parts []string
	for _, r := range slices.Concat(q.running, q.waiting) {
		text := q.line.places[r].component + " " + string(r.Phase)
		if r.Long {
			text += " long"
		}
		if r.Detached {
			text += " detached"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// expect waits for a state of the line.
func (q *queue) expect(want string) {
	q.t.Helper()
	q.waitFor(want, func() bool { return q.phases() == want })
}

// expectWoken waits until exactly the given components were woken.
func (q *queue) expectWoken(want ...string) {
	q.t.Helper()
	q.waitFor(fmt.Sprintf("the wake of %v", want), func() bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		return slices.Equal(q.woken, want)
	})
}

// begin enters the line, and begins a rendering if it is admitted. The first letter of the name is the namespace.
func (q *queue) begin(ctx context.Context, name string, stop context.CancelCauseFunc) error {
	p, err := q.enter(ctx, name[:1], name)
	if err == nil {
		q.line.begin(p, stop, func() {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.lowered = append(q.lowered, name)
		})
		q.places.Store(name, p)
	}
	return err
}

// end ends a rendering.
func (q *queue) end(name string, stopped bool) {
	q.t.Helper()
	found, _ := q.places.Load(name)
	p, ok := found.(*place)
	if !ok {
		q.t.Fatalf("%s has no place", name)
	}
	q.leave(p, stopped)
}

func never(error) {}

func TestRequestsWithoutATurnWaitInTheCall(t *testing.T) {
	q := newQueue(t, 1)
	if err := q.begin(t.Context(), "a1", never); err != nil {
		t.Fatal(err)
	}
	order := make(chan string)
	for i, name := range []string{"a2", "a3", "b1", "c1"} {
		go func() {
			if err := q.begin(t.Context(), name, never); err == nil {
				order <- name
			}
		}()
		q.waitFor("the arrival of "+name, func() bool { return strings.Count(q.phases(), "Waiting") == i+1 })
	}
	// A request that gives up leaves the line.
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := q.begin(ended, "d1", never); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	last, got := "a1", ""
	for range 4 {
		q.clock.Step(time.Second)
		q.end(last, false)
		last = <-order
		got += last + " "
	}
	if want := "b1 c1 a2 a3 "; got != want {
		t.Errorf("order %s, want %s", got, want)
	}
	q.end(last, false)
	q.expect("")
	if len(q.line.places) != 0 || len(q.turns) != 0 {
		t.Errorf("left: %d places, %d turns", len(q.line.places), len(q.turns))
	}
}

func TestALongRenderingIsStoppedForOthersAndGoesOnInALongPlace(t *testing.T) {
	q := newQueue(t, 2)
	stopped := make(chan error, 1)
	a1, a2, a3 := turn.With(t.Context(), q.turn("a1")), turn.With(t.Context(), q.turn("a2")), turn.With(t.Context(),
		q.turn("a3"))
	for _, err := range []error{
		q.begin(a1, "a1", never),
		q.begin(a2, "a2", func(cause error) { stopped <- cause }),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	q.clock.Step(fair.Quick)
	q.expect("a1 Running long, a2 Running")

	// The namespace a has a long rendering, so its requests hold no worker. Nothing is stopped for them.
	if err := q.begin(a3, "a3", never); !errors.Is(err, turn.ErrLater) {
		t.Fatal(err)
	}
	q.expect("a1 Running long, a2 Running, a3 Waiting detached")

	// A request of another namespace stops the rendering without a long place.
	admitted := make(chan error, 1)
	go func() { admitted <- q.begin(t.Context(), "b1", never) }()
	if cause := <-stopped; !errors.Is(cause, errStopped) {
		t.Fatal(cause)
	}
	q.end("a2", true)
	if err := <-admitted; err != nil {
		t.Fatal(err)
	}
	q.expect("a1 Running long, b1 Running, a2 Waiting long detached, a3 Waiting detached")
	if err := q.begin(a2, "a2", never); !errors.Is(err, turn.ErrLater) {
		t.Fatal(err)
	}
	q.expectWoken()

	// The quick rendering behind it runs first, because the long place is taken.
	q.end("b1", false)
	q.expectWoken("a3")
	q.expect("a1 Running long, a3 Kept, a2 Waiting long detached")
	if err := q.begin(a3, "a3", never); err != nil {
		t.Fatal(err)
	}

	// The place is kept for the further renderings of a pass, until the turn is given up.
	q.end("a1", false)
	q.expect("a1 Held long, a3 Running, a2 Waiting long detached")
	if err := q.begin(a1, "a1", never); err != nil {
		t.Fatal(err)
	}
	q.end("a1", false)
	turn.Of(a1).GiveUp()
	q.expectWoken("a3", "a2")
	q.expect("a3 Running, a2 Kept long")
	if err := q.begin(a2, "a2", never); err != nil {
		t.Fatal(err)
	}

	// A component whose rendering was stopped needs a long place until it renders quickly.
	q.end("a2", false)
	turn.Of(a2).GiveUp()
	if err := q.begin(a2, "a2", never); err != nil {
		t.Fatal(err)
	}
	q.expect("a3 Running, a2 Running")
	// Each rendering in a long place has a lower priority.
	if want := []string{"a1", "a1", "a2"}; !slices.Equal(q.lowered, want) {
		t.Errorf("lowered priorities: %v, want %v", q.lowered, want)
	}
}

func TestAPlaceThatIsNotUsedGoesToOthers(t *testing.T) {
	q := newQueue(t, 1)
	a1, b1 := turn.With(t.Context(), q.turn("a1")), turn.With(t.Context(), q.turn("b1"))
	if err := q.begin(t.Context(), "c1", never); err != nil {
		t.Fatal(err)
	}
	q.clock.Step(fair.Quick)
	later := make(chan error, 2)
	go func() { later <- q.begin(a1, "a1", never) }()
	q.expect("c1 Running long, a1 Waiting")
	go func() { later <- q.begin(b1, "b1", never) }()
	q.expect("c1 Running long, a1 Waiting, b1 Waiting")
	q.clock.Step(fair.Quick)
	for range 2 {
		if err := <-later; !errors.Is(err, turn.ErrLater) {
			t.Fatal(err)
		}
	}
	q.end("c1", false)
	q.expectWoken("a1")
	q.expect("a1 Kept, b1 Waiting detached")
	q.clock.Step(fair.Quick)
	q.expectWoken("a1", "b1")
	q.expect("b1 Kept, a1 Waiting detached")

	// A turn that is given up leaves the line, also while it waits.
	turn.Of(a1).GiveUp()
	q.expect("b1 Kept")
	turn.Of(b1).GiveUp()
	q.expect("")
}

// Twenty hostile components beside twenty good ones, with children: a good one waits for one hostile rendering at most,
// and each hostile rendering is stopped once.
func TestLongRenderingsOfOneNamespaceDoNotHoldUpAnother(t *testing.T) {
	const components = 20
	g := newGenerator(t, func(o *Options) { o.Processes = 2 })
	q := newQueue(t, 2)
	g.line = q.line
	in := func(namespace string, number int, act string) generator.Request {
		req := requestOf(act, "ok")
		req.Component = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprint(number)}}
		return req
	}
	var errs [components + 1]chan error
	var turns [components + 1]context.Context
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	hostile := func(number int) {
		if errs[number] == nil {
			errs[number], turns[number] = make(chan error, 1), turn.With(ctx, q.turn(fmt.Sprint(number)))
		}
		go func() {
			_, err := g.Generate(turns[number], in("hostile", number, "loop"))
			errs[number] <- err
		}()
	}
	isStopped := func(number int) {
		t.Helper()
		err := <-errs[number]
		if _, killed := errors.AsType[*generator.KilledError](err); killed || !errors.Is(err, turn.ErrLater) {
			t.Fatalf("hostile component %d: %v", number, err)
		}
	}
	isRunning := func(number int) {
		t.Helper()
		q.waitFor("a rendering", func() bool {
			return strings.Contains(q.phases(),
				fmt.Sprintf("hostile/%d Running", number))
		})
	}
	hostile(1)
	isRunning(1)
	hostile(2)
	isRunning(2)
	q.clock.Step(fair.Quick)
	q.expect("hostile/1 Running long, hostile/2 Running")
	for number := 3; number <= components; number++ {
		hostile(number)
		isStopped(number) // It has not begun, and holds no worker.
	}
	var woken []string
	for number := 2; number <= components; number++ {
		good := make(chan error, 1)
		go func() {
			_, err := g.Generate(t.Context(), in("good", number, "echo"))
			good <- err
		}()
		if number > 2 {
			q.waitFor("a good request", func() bool { return strings.Contains(q.phases(), "good") })
			q.clock.Step(fair.Quick)
		}
		isStopped(number)
		if err := <-good; err != nil {
			t.Fatal(err)
		}
		if next := number + 1; next <= components {
			woken = append(woken, fmt.Sprint(next))
			q.expectWoken(woken...)
			hostile(next)
			isRunning(next)
		}
	}
	// Now each hostile component waits for the long place, and quick renderings wait for nobody.
	if _, err := g.Generate(t.Context(), in("good", 1, "echo")); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(q.phases(), "Waiting long detached"); got != components-1 || len(q.running) != 1 {
		t.Errorf("the line is %s", q.phases())
	}
	cancel()
	if err := <-errs[1]; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	turn.Of(turns[1]).GiveUp()
	q.expectWoken(append(woken, fmt.Sprint(components))...)
}
