package schedule

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func TestWindow(t *testing.T) {
	a, b := types.NamespacedName{Name: "a"}, types.NamespacedName{Name: "b"}
	start := time.Unix(1000, 0)
	w := NewWindow(2, 3*time.Second)
	for _, step := range []struct {
		name      string
		component types.NamespacedName
		at        time.Duration
		want      time.Duration
	}{
		{"the first pass begins at once", a, 0, 0},
		{"the second pass begins at once", a, time.Second, 0},
		{"the third pass waits until the first pass is three seconds old", a, time.Second, 2 * time.Second},
		{"another component does not wait", b, time.Second, 0},
		{"the third pass begins after the wait", a, 3 * time.Second, 0},
		{"the fourth pass waits until the second pass is three seconds old", a, 3 * time.Second, time.Second},
		{"after a pause, a burst begins at once", a, time.Minute, 0},
		{"after a pause, the second pass of a burst begins at once", a, time.Minute, 0},
		{"after a burst, the next pass waits", a, time.Minute, 3 * time.Second},
	} {
		now := start.Add(step.at)
		if got := w.Delay(step.component, now); got != step.want {
			t.Errorf("%s: the delay is %s, want %s", step.name, got, step.want)
		} else if got == 0 {
			w.Passed(step.component, now)
		}
	}
	w.Forget(a)
	if got := w.Delay(a, start.Add(time.Minute)); got != 0 {
		t.Errorf("after Forget, the delay is %s", got)
	}
	if len(w.ends) != 1 {
		t.Errorf("the limiter keeps %d components", len(w.ends))
	}
}

func TestWindowWithoutLimit(t *testing.T) {
	for _, w := range []*Window{NewWindow(0, time.Hour), NewWindow(1, 0)} {
		w.Passed(types.NamespacedName{}, time.Unix(0, 0))
		if got := w.Delay(types.NamespacedName{}, time.Unix(0, 0)); got != 0 || len(w.ends) > 0 {
			t.Errorf("the delay is %s", got)
		}
	}
}
