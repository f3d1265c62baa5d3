package component

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// part is a component of a few fields.
type part struct {
	corev1.ConfigMap
	status metav1alpha1.Status
}

func (*part) GetParameters() (map[string]any, error) { return nil, nil }

func (p *part) GetStatus() *metav1alpha1.Status { return &p.status }

func TestComeBack(t *testing.T) {
	waiting := []Waiting{waits("ConfigMap shop/a", "NotGone", "finalizers hold it")}
	since := metav1.Now()
	for _, c := range []struct {
		name     string
		deleting bool
		outcome  Outcome
		min, max time.Duration
	}{
		{"what is ready is looked at again at the resync", false, Outcome{Ready: 1, Desired: 1}, time.Hour, 2 * time.Hour},
		{"what is on its way has until its time-out", false, Outcome{Waiting: waiting}, time.Second, 10 * time.Minute},
		{"what goes away by itself is tried again at once", false, Outcome{Waiting: []Waiting{fails("A a", "Timeout", "x", false)}}, 1, time.Second},
		{"what needs a change is tried again at the retry interval", false, Outcome{Waiting: []Waiting{fails("A a", "Invalid", "x", true)}}, time.Minute, time.Minute},
		{"what lacks a right is tried again soon", false, Outcome{Waiting: []Waiting{fails("A a", "Forbidden", "x", true)}}, 1, time.Second},
		{"so is a namespace that is to be emptied", false, Outcome{Waiting: []Waiting{fails("A a", "NamespaceNotEmpty", "x", true)}}, 1, time.Second},
		{"and what is refused in a deletion, whatever the reason", true, Outcome{Waiting: []Waiting{fails("A a", "BadRequest", "x", true)}}, 1, time.Second},
		{"a Job that failed in a deletion is watched", true, Outcome{Waiting: []Waiting{fails("A a", "DependentFailed", "x", true)}}, time.Minute, time.Minute},
		{"a deletion that waits is never left alone for longer than the retry interval", true, Outcome{Waiting: waiting}, time.Minute, time.Minute},
		{"nor is one that foreign instances hold", true, Outcome{Blocked: []Blocked{{Type: "Widget.example.com", Count: 1}}}, time.Minute, time.Minute},
		{"a deletion that fails is tried again at once", true, Outcome{Waiting: []Waiting{fails("A a", "Timeout", "x", false)}}, 1, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := NewReconciler[*part]("parts.example.com", nil, Options{ResyncInterval: time.Hour, RetryInterval: time.Minute, Timeout: 10 * time.Minute})
			component := &part{status: metav1alpha1.Status{ProgressingSince: &since}}
			if c.deleting {
				component.DeletionTimestamp = &since
			}
			got := r.comeBack(reconcile.Request{}, component, c.outcome, nil, judge(c.deleting, c.outcome, nil))
			if got < c.min || got > c.max {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestNoLater(t *testing.T) {
	r := NewReconciler[*part]("parts.example.com", nil, Options{})
	r.clock = testingclock.NewFakePassiveClock(time.Unix(1000, 0))
	for _, c := range []struct {
		name  string
		delay time.Duration
		due   time.Time
		want  time.Duration
	}{
		{"where nothing is due the delay stands", time.Hour, time.Time{}, time.Hour},
		{"what is due sooner shortens it", time.Hour, time.Unix(1060, 0), time.Minute},
		{"what is due later does not", time.Minute, time.Unix(4600, 0), time.Minute},
		{"what is due ends a delay without end", 0, time.Unix(1060, 0), time.Minute},
		{"what is overdue is not forgotten", 0, time.Unix(900, 0), time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := r.noLater(c.delay, c.due); got != c.want {
				t.Errorf("got %s", got)
			}
		})
	}
}
