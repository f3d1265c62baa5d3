package rendering

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/budget"
	"github.com/fairlead-io/fairlead/internal/turn"
	"github.com/fairlead-io/fairlead/pkg/component/internal/input"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// pool is a generator that lets components wait for their turn.
type pool struct {
	*scene
	// busy lets the next rendering wait. turns are the turns of all calls of the generator, and released the number of
	// places that were given up.
	busy     bool
	turns    []*turn.Turn
	released int
}

func newPool(t *testing.T) *pool {
	t.Helper()
	p := &pool{scene: newScene(t)}
	p.options.Wake = func(types.NamespacedName) {}
	p.generate = func(ctx context.Context, _ generator.Request) ([]client.Object, error) {
		of := turn.Of(ctx)
		p.turns = append(p.turns, of)
		of.Enter(func() { p.released++ })
		if p.busy {
			of.Postpone()
			return nil, turn.ErrLater
		}
		return []client.Object{settings("a", "1")}, nil
	}
	p.restart()
	return p
}

// pass makes a pass that renders.
func (p *pool) pass() (calls int, err error) {
	p.t.Helper()
	defer p.renderer.BeginPass(p.request.name())()
	_, calls, err = p.render()
	return calls, err
}

func TestAComponentKeepsItsTurnUntilItHasRendered(t *testing.T) {
	p := newPool(t)
	p.busy = true
	if calls, err := p.pass(); calls != 1 || !errors.Is(err, turn.ErrLater) || p.released != 0 {
		t.Fatalf("%d calls, %v, %d released", calls, err, p.released)
	}
	// Until its turn comes, nothing is loaded or rendered for the component.
	if calls, err := p.pass(); calls != 0 || !errors.Is(err, turn.ErrLater) || p.released != 0 {
		t.Fatalf("%d calls, %v, %d released", calls, err, p.released)
	}
	p.busy = false
	p.turns[0].Wake()
	if calls, err := p.pass(); calls != 2 || err != nil || p.released != 1 {
		t.Fatalf("%d calls, %v, %d released", calls, err, p.released)
	}
	for i, of := range p.turns {
		if of != p.turns[0] {
			t.Errorf("call %d has another turn", i)
		}
	}
	if len(p.renderer.turns.waiting) != 0 {
		t.Error("the turn is kept")
	}
}

func TestAPassThatNeedsNoRenderingGivesUpTheTurn(t *testing.T) {
	p := newPool(t)
	p.busy = true
	if _, err := p.pass(); !errors.Is(err, turn.ErrLater) {
		t.Fatal(err)
	}
	// For example because the component was suspended or deleted meanwhile.
	p.renderer.BeginPass(p.request.name())()
	if p.released != 1 || len(p.renderer.turns.waiting) != 0 {
		t.Errorf("%d released, %d kept", p.released, len(p.renderer.turns.waiting))
	}
}

// The place of a component may be taken from it while its source is fetched again. Then the source is kept until the
// component is next.
func TestTheSourceOfAComponentThatWaitsForItsTurnIsFetchedOnce(t *testing.T) {
	p := newPool(t)
	fetcher := &slowFetcher{release: make(chan struct{})}
	close(fetcher.release)
	p.options.Fetches = input.NewFetches(t.Context(), fetcher, clock.RealClock{}, nil)
	p.restart()
	p.request.Inputs.Source = &metav1alpha1.SourceReference{URL: "https://example.com/a.tgz", SHA256: "a"}
	name := p.request.name()
	fetched := func() bool { return p.options.Fetches.IsReady(name) }

	_, err := p.pass()
	expect(t, err, metav1alpha1.ReasonFetching, false, "the source is being fetched from https://example.com/a.tgz")
	p.eventually(fetched)
	p.busy = true
	if _, err := p.pass(); !errors.Is(err, turn.ErrLater) || fetched() {
		t.Fatalf("got %v; the pass must take the source", err)
	}
	p.turns[0].Wake()
	_, err = p.pass()
	expect(t, err, metav1alpha1.ReasonFetching, false, "the source is being fetched from https://example.com/a.tgz")
	p.turns[0].Postpone()
	p.eventually(fetched)
	for range 2 {
		if calls, err := p.pass(); calls != 0 || !errors.Is(err, turn.ErrLater) || !fetched() {
			t.Fatalf("%d calls, %v, the source is there: %t", calls, err, fetched())
		}
	}
	p.busy = false
	p.turns[0].Wake()
	if calls, err := p.pass(); calls != 2 || err != nil || fetcher.calls.Load() != 2 {
		t.Errorf("%d calls, %v, %d fetches", calls, err, fetcher.calls.Load())
	}
	if fetched() || p.released != 1 {
		t.Errorf("the source is kept: %t; %d released", fetched(), p.released)
	}
}

func TestAPassThatNeedsNoRenderingDropsTheSource(t *testing.T) {
	p := newPool(t)
	fetcher := &slowFetcher{release: make(chan struct{})}
	close(fetcher.release)
	p.options.Fetches = input.NewFetches(t.Context(), fetcher, clock.RealClock{}, nil)
	p.restart()
	p.busy = true
	if _, err := p.pass(); !errors.Is(err, turn.ErrLater) {
		t.Fatal(err)
	}
	name, ref := p.request.name(), metav1alpha1.SourceReference{URL: "https://example.com/a.tgz", SHA256: "a"}
	if _, err := p.options.Fetches.Take(t.Context(), name, ref, func() {}); !errors.Is(err, passerror.ErrObserving) {
		t.Fatal(err)
	}
	p.eventually(func() bool { return p.options.Fetches.IsReady(name) })
	p.renderer.BeginPass(name)()
	if p.options.Fetches.IsReady(name) || p.released != 1 {
		t.Errorf("the source is kept: %t; %d released", p.options.Fetches.IsReady(name), p.released)
	}
}

func TestFewSourcesAreKeptForTurns(t *testing.T) {
	for _, c := range []struct {
		name, kept, component string
		want                  bool
	}{
		{"the first one", "", "a/1", true},
		{"the same component again", "a/1", "a/1", true},
		{"another one of its namespace", "a/1", "a/2", false},
		{"one of another namespace", "a/1 b/1 c/1", "d/1", true},
		{"one of a fifth namespace", "a/1 b/1 c/1 d/1", "e/1", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var all turns
			for _, text := range append(strings.Fields(c.kept), c.component) {
				namespace, name, _ := strings.Cut(text, "/")
				component := types.NamespacedName{Namespace: namespace, Name: name}
				_, end := all.begin(component, func() {})
				end(turn.ErrLater)
				got, want := all.endPass(component, true), text != c.component || c.want
				if got != want {
					t.Errorf("%s: the source is kept: %t, want %t", text, got, want)
				}
			}
		})
	}
}

// The third rendering would begin in a process that is not free yet.
func TestTheDeterminismCheckEndsIfTheComponentHasToWait(t *testing.T) {
	for name, cause := range map[string]error{"for its turn": turn.ErrLater, "for memory": budget.ErrWait} {
		t.Run(name, func(t *testing.T) {
			p := newPool(t)
			p.Put("example.com/v1", "Widget", "shop", "w", map[string]any{"status": map[string]any{"address": "10.0.0.1"}})
			p.generate = func(ctx context.Context, req generator.Request) ([]client.Object, error) {
				if p.calls == 2 {
					return nil, cause
				}
				widget := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
				_, err := req.Target.Get(ctx, widget, "shop", "w")
				return []client.Object{settings("a", "1")}, err
			}
			if calls, err := p.pass(); calls != 2 || !errors.Is(err, cause) {
				t.Errorf("%d calls, %v", calls, err)
			}
		})
	}
}

func TestARenderingThatFailsGivesUpTheTurn(t *testing.T) {
	p := newPool(t)
	p.generate = func(ctx context.Context, _ generator.Request) ([]client.Object, error) {
		turn.Of(ctx).Enter(func() { p.released++ })
		return nil, errors.New("bad values")
	}
	if _, err := p.pass(); err == nil || p.released != 1 || len(p.renderer.turns.waiting) != 0 {
		t.Errorf("%v, %d released", err, p.released)
	}
}

func TestTheTimeOfRenderingsIsCountedWithoutTheTimeInLine(t *testing.T) {
	p := newPool(t)
	spent := map[string]time.Duration{}
	p.options.Spent = func(namespace string, d time.Duration) { spent[namespace] += d }
	p.generate = func(ctx context.Context, _ generator.Request) ([]client.Object, error) {
		turn.Of(ctx).AddWait(5 * time.Second)
		p.clock.SetTime(p.clock.Now().Add(7 * time.Second))
		return []client.Object{settings("a", "1")}, nil
	}
	p.restart()
	// Two renderings: the second one checks that the first one is deterministic.
	if calls, err := p.pass(); calls != 2 || err != nil || spent["shop"] != 4*time.Second {
		t.Errorf("%d calls, %v, spent %v", calls, err, spent)
	}
}
