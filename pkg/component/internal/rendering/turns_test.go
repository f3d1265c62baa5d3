package rendering

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/internal/turn"
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
