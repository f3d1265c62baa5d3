package budget_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/internal/budget"
)

const mebibyte = 1 << 20

// line is a budget of 100 MiB, without allowances, that records which components it wakes.
type line struct {
	*testing.T
	*budget.Budget
	mu    sync.Mutex
	woken []string
}

func newLine(t *testing.T) *line {
	t.Helper()
	return &line{T: t, Budget: budget.New(100*mebibyte, 1<<40)}
}

func nameOf(text string) types.NamespacedName {
	namespace, name, _ := strings.Cut(text, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// begin begins work for a component.
func (l *line) begin(component string) (context.Context, *budget.Lease) {
	return l.Begin(l.Context(), nameOf(component), func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.woken = append(l.woken, component)
	})
}

// take reserves memory for a component, and fails the test unless it is available.
func (l *line) take(component string, mib int64) (context.Context, *budget.Lease) {
	l.Helper()
	ctx, lease := l.begin(component)
	if err := budget.Reserve(ctx, mib*mebibyte); err != nil {
		l.Fatalf("%s: %v", component, err)
	}
	return ctx, lease
}

// queue makes a component wait for memory.
func (l *line) queue(component string, mib int64) {
	l.Helper()
	ctx, lease := l.begin(component)
	if err := budget.Reserve(ctx, mib*mebibyte); !errors.Is(err, budget.ErrWait) || !lease.Waits() {
		l.Fatalf("%s: got %v", component, err)
	}
	lease.End()
}

func (l *line) expectWoken(want ...string) {
	l.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Equal(l.woken, want) {
		l.Errorf("woken: %v, want %v", l.woken, want)
	}
}

func (l *line) expectUsage(reservedMiB int64, waiting int) {
	l.Helper()
	if u := l.Usage(); u.Reserved != reservedMiB*mebibyte || u.Waiting != waiting {
		l.Errorf("%d MiB are reserved and %d components wait, want %d and %d", u.Reserved/mebibyte, u.Waiting, reservedMiB,
			waiting)
	}
}

func TestMemoryIsReservedUntilTheEndOfTheWork(t *testing.T) {
	l := newLine(t)
	ctx, lease := l.take("a/x", 30)
	if err := budget.Reserve(ctx, 40*mebibyte); err != nil {
		t.Fatal(err)
	}
	l.expectUsage(70, 0)
	lease.End()
	lease.End()
	l.expectUsage(0, 0)
	if err := budget.Reserve(ctx, 1); !errors.Is(err, budget.ErrWait) {
		t.Errorf("work that ended gets memory: %v", err)
	}
}

func TestAComponentThatWaitsHasTheMemoryInItsNextPass(t *testing.T) {
	l := newLine(t)
	_, first := l.take("a/x", 80)
	l.queue("b/y", 40)
	l.expectUsage(80, 1)
	l.expectWoken()
	first.End()
	l.expectWoken("b/y")
	l.expectUsage(60, 0)
	// The memory is kept for b/y, whatever others do in between.
	l.queue("c/z", 50)
	_, second := l.take("b/y", 40)
	second.End()
	l.expectWoken("b/y", "c/z")
	l.take("c/z", 50)
}

func TestNamespacesTakeTurns(t *testing.T) {
	l := newLine(t)
	_, first := l.take("a/0", 100)
	for i := range 3 {
		l.queue(fmt.Sprintf("a/%d", i+1), 60)
	}
	l.queue("b/1", 1)
	first.End()
	l.expectWoken("a/1", "b/1")
	_, second := l.take("a/1", 60)
	second.End()
	l.expectWoken("a/1", "b/1", "a/2")
}

func TestALargeRequestIsNotOvertaken(t *testing.T) {
	l := newLine(t)
	_, first := l.take("a/x", 50)
	l.queue("b/large", 90)
	l.queue("c/small", 10)
	first.End()
	l.expectWoken("b/large")
	_, large := l.take("b/large", 90)
	large.End()
	l.expectWoken("b/large", "c/small")
}

func TestARequestThatIsTooLargeIsRefusedAndBlocksNobody(t *testing.T) {
	l := newLine(t)
	ctx, lease := l.begin("a/x")
	err := budget.Reserve(ctx, 200*mebibyte)
	if _, ok := errors.AsType[*budget.TooLargeError](err); !ok || lease.Waits() {
		t.Fatalf("got %v", err)
	}
	const want = "the component needs about 200 MiB of memory at the same time, more than the operator has for all " +
		"components (100 MiB); make it smaller, split it into several components, or give the operator more memory"
	if err.Error() != want {
		t.Errorf("got %v", err)
	}
	l.take("b/y", 100)
	lease.End()
	l.expectUsage(100, 0)
}

func TestADeletionThatIsTooLargeWaitsForTheWholeBudget(t *testing.T) {
	l := newLine(t)
	_, first := l.take("a/x", 10)
	ctx, lease := l.begin("b/y")
	budget.Entire(ctx)
	if err := budget.Reserve(ctx, 200*mebibyte); !errors.Is(err, budget.ErrWait) {
		t.Fatalf("got %v", err)
	}
	lease.End()
	first.End()
	l.expectWoken("b/y")
	ctx, lease = l.begin("b/y")
	budget.Entire(ctx)
	for range 3 {
		if err := budget.Reserve(ctx, 200*mebibyte); err != nil {
			t.Fatal(err)
		}
	}
	lease.End()
	l.expectUsage(0, 0)
}

func TestAComponentKeepsItsPlaceInLine(t *testing.T) {
	l := newLine(t)
	_, first := l.take("a/x", 100)
	l.queue("b/1", 60)
	l.queue("b/2", 60)
	l.queue("b/1", 70) // Another event starts a pass, which waits again.
	l.expectUsage(100, 2)
	first.End()
	l.expectWoken("b/1")
}

func TestAComponentThatNeedsNoMemoryAnyMoreLeavesTheLine(t *testing.T) {
	l := newLine(t)
	_, first := l.take("a/x", 100)
	l.queue("b/1", 60)
	_, lease := l.begin("b/1")
	lease.End()
	l.expectUsage(100, 0)

	l.queue("b/2", 60)
	first.End()
	l.expectUsage(90, 0)
	_, lease = l.begin("b/2")
	lease.End()
	l.expectUsage(0, 0)
}

func TestAComponentClaimsAsMuchAsBefore(t *testing.T) {
	l := newLine(t)
	_, first := l.take("a/x", 100)
	l.queue("b/y", 40)
	first.End()
	_, lease := l.begin("b/y") // A pass that comes to nothing gives the memory back.
	lease.End()
	_, first = l.take("a/x", 100)
	l.queue("b/y", 10)
	first.End()
	l.expectUsage(60, 0)
	_, lease = l.take("b/y", 40)
	lease.Succeed()
	lease.End()
	_, first = l.take("a/x", 100)
	l.queue("b/y", 10)
	first.End()
	l.expectUsage(15, 0)
}

func TestAScopeReleasesItsMemory(t *testing.T) {
	l := newLine(t)
	_, other := l.take("a/other", 35)
	ctx, lease := l.take("a/x", 10)
	inner, end := budget.Scope(ctx)
	if err := budget.Reserve(inner, 50*mebibyte); err != nil {
		t.Fatal(err)
	}
	l.expectUsage(95, 0)
	if err := budget.Reserve(inner, 15*mebibyte); err == nil {
		t.Error("more than the budget is reserved")
	}
	end()
	l.expectUsage(95, 0)
	budget.Trim(ctx)
	l.expectUsage(45, 0)
	if !lease.Waits() {
		t.Error("the lease does not wait for the memory that the scope lacked")
	}
	lease.Succeed()
	lease.End()
	other.End()
	l.expectUsage(0, 0)
}

func TestWorkHandsItsMemoryToThePassOfItsComponent(t *testing.T) {
	l := newLine(t)
	_, fetch := l.take("a/x", 40)
	pass, lease := l.begin("a/x")
	fetch.Hand(pass)
	l.expectUsage(40, 0)
	lease.End()
	l.expectUsage(0, 0)
}

func TestMemoryIsKeptWhenTheTurnComesDuringAPass(t *testing.T) {
	l := newLine(t)
	_, first := l.take("a/x", 100)
	l.queue("b/y", 60)
	ctx, lease := l.begin("b/y")
	first.End()
	l.expectWoken("b/y")
	budget.Trim(ctx)
	lease.End()
	l.expectUsage(90, 0)
	_, next := l.take("b/y", 90)
	next.End()
	l.expectUsage(0, 0)
}

func TestUsualComponentsDoNotStandInLine(t *testing.T) {
	l := &line{T: t, Budget: budget.New(100*mebibyte, 10)}
	_, large := l.take("a/large", 77) // 100 MiB without the allowances of 10 x 2.5 MiB, and its own.
	l.queue("a/other", 4)
	l.take("b/usual", 2)
	large.End()
}

func TestAnUnlimitedBudgetReservesNothing(t *testing.T) {
	b := budget.New(0, 8)
	ctx, lease := b.Begin(t.Context(), nameOf("a/x"), nil)
	budget.Entire(ctx)
	inner, end := budget.Scope(ctx)
	if err := budget.Reserve(inner, 1<<60); err != nil || lease.Waits() || lease.Needs() != 0 {
		t.Errorf("got %v", err)
	}
	end()
	budget.Trim(ctx)
	lease.Hand(ctx)
	lease.Succeed()
	lease.End()
	if b.Usage() != (budget.Usage{}) {
		t.Errorf("got %v", b.Usage())
	}
}

// Many components work at the same time. The reserved memory never exceeds the budget, and each component succeeds.
func TestManyComponents(t *testing.T) {
	const components, rounds = 50, 20
	b := budget.New(100*mebibyte, 1<<40)
	var all sync.WaitGroup
	for i := range components {
		name := types.NamespacedName{Namespace: fmt.Sprint(i % 5), Name: fmt.Sprint(i)}
		wake := make(chan struct{}, 1)
		all.Go(func() {
			for done := 0; done < rounds; {
				ctx, lease := b.Begin(t.Context(), name, func() {
					select {
					case wake <- struct{}{}:
					default:
					}
				})
				failed := errors.Join(budget.Reserve(ctx, int64(i)*mebibyte), budget.Reserve(ctx, int64(i)*mebibyte))
				if b.Usage().Reserved > 100*mebibyte {
					t.Error("more than the budget is reserved")
				}
				lease.End()
				if failed != nil {
					<-wake
					continue
				}
				done++
			}
		})
	}
	all.Wait()
	if u := b.Usage(); u.Reserved != 0 || u.Waiting != 0 {
		t.Errorf("got %+v", u)
	}
}

func BenchmarkUsualPass(b *testing.B) {
	line := budget.New(500*mebibyte, 24)
	name, ctx := nameOf("a/x"), context.Background()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			working, lease := line.Begin(ctx, name, func() {})
			_ = budget.Reserve(working, mebibyte)
			lease.End()
		}
	})
}
