package causes

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTheLatestWarningIsTheCause(t *testing.T) {
	at := func(after time.Duration) time.Time { return start.Add(after) }
	event := func(reason, message string) corev1.Event { return corev1.Event{Reason: reason, Message: message} }
	created, last, first, series := event("A", "a"), event("B", "b"), event("C", "c"), event("D", "d")
	created.CreationTimestamp = metav1.NewTime(at(time.Minute))
	last.LastTimestamp, last.CreationTimestamp = metav1.NewTime(at(3*time.Minute)), metav1.NewTime(at(0))
	first.EventTime = metav1.NewMicroTime(at(2 * time.Minute))
	series.Series = &corev1.EventSeries{LastObservedTime: metav1.NewMicroTime(at(4 * time.Minute))}
	for _, c := range []struct {
		name     string
		warnings []corev1.Event
		want     string
	}{
		{"none", nil, ""},
		{"only one", []corev1.Event{created}, "A: a"},
		{"the last time counts", []corev1.Event{last, created, first}, "B: b"},
		{"so does the time of an event", []corev1.Event{created, first}, "C: c"},
		{"so does the last time of a series", []corev1.Event{series, last}, "D: d"},
		{"several lines become one", []corev1.Event{event("A", " a\n\tb ")}, "A: a b"},
		{"a reason alone", []corev1.Event{event("A", "")}, "A"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := latest(c.warnings); got != c.want {
				t.Errorf("latest returned the cause %q", got)
			}
		})
	}
	if got := latest([]corev1.Event{event("A", strings.Repeat("x", 2*maxCause))}); len(got) > maxCause {
		t.Errorf("the text of an event has %d bytes, which is more than maxCause", len(got))
	}
}
