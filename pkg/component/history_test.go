package component

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

func at(minute int) metav1.Time { return metav1.NewTime(time.Unix(int64(60*minute), 0)) }

func revision(number int64, outcome metav1alpha1.RevisionOutcome, reason string, started int, ended *metav1.Time) metav1alpha1.RevisionRecord {
	return metav1alpha1.RevisionRecord{Revision: number, Outcome: outcome, Reason: reason, Started: at(started), Ended: ended}
}

func TestHistoryOfARevision(t *testing.T) {
	progressing := revision(1, metav1alpha1.RevisionProgressing, "", 1, nil)
	failed := revision(1, metav1alpha1.RevisionFailed, "DependentFailed", 1, nil)
	ready := revision(1, metav1alpha1.RevisionReady, "", 1, new(at(2)))
	stalls := verdict{state: metav1alpha1.StateStalled, reason: "DependentFailed"}
	for _, c := range []struct {
		name   string
		before metav1alpha1.RevisionRecord
		v      verdict
		want   metav1alpha1.RevisionRecord
	}{
		{"ends when it is ready", progressing, verdict{state: metav1alpha1.StateReady}, ready},
		{"has failed when it is stalled, but is not over", progressing, stalls, failed},
		{"goes on after a failure", failed, verdict{state: metav1alpha1.StateProgressing}, progressing},
		{"is ready after a failure", failed, verdict{state: metav1alpha1.StateReady}, ready},
		{"stays ready whatever comes later", ready, stalls, ready},
		{"is not judged while it is suspended", progressing, verdict{state: metav1alpha1.StateSuspended}, progressing},
	} {
		t.Run(c.name, func(t *testing.T) {
			history := []metav1alpha1.RevisionRecord{c.before}
			if diff := cmp.Diff([]metav1alpha1.RevisionRecord{c.want}, judged(history, c.v, at(2).Time)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]metav1alpha1.RevisionRecord{c.before}, history); diff != "" {
				t.Errorf("the history it came from is changed: %s", diff)
			}
		})
	}
}

func TestANewRevisionEndsTheOneBefore(t *testing.T) {
	next := revision(2, metav1alpha1.RevisionProgressing, "", 9, nil)
	for _, c := range []struct {
		name         string
		before, want metav1alpha1.RevisionRecord
	}{
		{
			"that was not ready yet", revision(1, metav1alpha1.RevisionProgressing, "", 1, nil),
			revision(1, metav1alpha1.RevisionSuperseded, "", 1, new(at(9))),
		},
		{
			"that failed, and says why", revision(1, metav1alpha1.RevisionFailed, "Timeout", 1, nil),
			revision(1, metav1alpha1.RevisionFailed, "Timeout", 1, new(at(9))),
		},
		{
			"unless it is over", revision(1, metav1alpha1.RevisionReady, "", 1, new(at(2))),
			revision(1, metav1alpha1.RevisionReady, "", 1, new(at(2))),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := begun([]metav1alpha1.RevisionRecord{c.before}, next)
			if diff := cmp.Diff([]metav1alpha1.RevisionRecord{next, c.want}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHistoryIsBounded(t *testing.T) {
	var history []metav1alpha1.RevisionRecord
	for number := range int64(25) {
		history = begun(history, revision(number, metav1alpha1.RevisionProgressing, "", int(number), nil))
	}
	if len(history) != 10 || history[0].Revision != 24 || history[9].Revision != 15 {
		t.Errorf("want revisions 24 to 15, got %v", history)
	}
}
