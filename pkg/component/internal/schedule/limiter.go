package schedule

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Limiter limits the rate of passes over each component.
type Limiter interface {
	// Delay returns how long the next pass over a component has to wait. Zero or less means that it may begin now.
	Delay(component types.NamespacedName, now time.Time) time.Duration
	// Passed is called at the end of a pass.
	Passed(component types.NamespacedName, now time.Time)
	// Forget is called when a component does not exist any more.
	Forget(component types.NamespacedName)
}

// Limit is an optional Limiter. The zero value sets no limit.
type Limit struct{ Limiter }

// Begin returns how long a pass has to wait because of the minimum interval or the Limiter; see State.Begin.
func (l Limit) Begin(component types.NamespacedName, s *State, minimum time.Duration, now time.Time) time.Duration {
	wait := s.Begin(minimum, now)
	if l.Limiter == nil {
		return wait
	}
	return max(wait, l.Delay(component, now))
}

// Passed is called at the end of a pass.
func (l Limit) Passed(component types.NamespacedName, now time.Time) {
	if l.Limiter != nil {
		l.Limiter.Passed(component, now)
	}
}

// Forget is called when a component does not exist any more.
func (l Limit) Forget(component types.NamespacedName) {
	if l.Limiter != nil {
		l.Limiter.Forget(component)
	}
}

// Window is a Limiter that permits a number of passes over each component within each period.
type Window struct {
	count  int
	period time.Duration

	mu sync.Mutex
	// ends are the ends of the latest passes over each component, at most count, in ascending order.
	ends map[types.NamespacedName][]time.Time
}

// NewWindow returns a Window. If count or period is not positive, the Window sets no limit.
func NewWindow(count int, period time.Duration) *Window {
	return &Window{count: count, period: period, ends: map[types.NamespacedName][]time.Time{}}
}

// Delay implements Limiter.
func (w *Window) Delay(component types.NamespacedName, now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	ends := w.ends[component]
	if w.count <= 0 || w.period <= 0 || len(ends) < w.count {
		return 0
	}
	return max(0, ends[0].Add(w.period).Sub(now))
}

// Passed implements Limiter.
func (w *Window) Passed(component types.NamespacedName, now time.Time) {
	if w.count <= 0 || w.period <= 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	ends := append(w.ends[component], now)
	w.ends[component] = slices.Clone(ends[max(0, len(ends)-w.count):])
}

// Forget implements Limiter.
func (w *Window) Forget(component types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.ends, component)
}
