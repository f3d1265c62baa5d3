package causes

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// unready is a Job that is not ready.
func unready(name string, uid types.UID, generation int64) result.Waiting {
	key := manifests.Key{Group: "batch", Kind: "Job", Namespace: "shop", Name: name}
	return result.Waiting{
		DependentReport: metav1alpha1.DependentReport{
			Dependent: key.String(), Reason: "InProgress", Message: "not Complete yet",
		},
		Key: key, UID: uid, Generation: generation,
	}
}

func TestEventsAreReadOnceForAGeneration(t *testing.T) {
	var m State
	job, before := unready("a", "u", 1), &metav1alpha1.Status{}
	note := func(at time.Duration, waiting ...result.Waiting) (int, time.Time) {
		due, next := m.Note(waiting, before, start.Add(at))
		for _, object := range due {
			m.Learn(object, "FailedCreate: no service account")
		}
		return len(due), next
	}
	for _, step := range []struct {
		name    string
		at      time.Duration
		waiting []result.Waiting
		due     int
		next    time.Duration
	}{
		{"it is not ready", 0, []result.Waiting{job}, 0, Delay},
		{"it is not ready later", Delay / 2, []result.Waiting{job}, 0, Delay},
		{"the time is over", Delay, []result.Waiting{job}, 1, 0},
		{"its events were read", 2 * Delay, []result.Waiting{job}, 0, 0},
		{"another one is not ready", 2 * Delay, []result.Waiting{job, unready("b", "v", 1)}, 0, 3 * Delay},
		{"it has another generation", 2 * Delay, []result.Waiting{unready("a", "u", 2)}, 0, 3 * Delay},
		{"it was created again", 2 * Delay, []result.Waiting{unready("a", "w", 1)}, 0, 3 * Delay},
		{"all are ready", 9 * Delay, nil, 0, 0},
		{"it is not applied", 9 * Delay, []result.Waiting{unready("a", "", 0)}, 0, 0},
	} {
		due, next := note(step.at, step.waiting...)
		want := time.Time{}
		if step.next > 0 {
			want = start.Add(step.next)
		}
		if due != step.due || !next.Equal(want) {
			t.Errorf("%s: the causes of %d dependents are due, and the next are due at %s", step.name, due, next)
		}
	}
	if m.unready != nil {
		t.Errorf("the memory still has dependents that are not ready, although all are ready: %v", m.unready)
	}
}

func TestWhatHoldsADeletionIsReadAgainByALaterPass(t *testing.T) {
	var m State
	held := unready("a", "u", 1)
	held.Reason = string(plan.WaitNotGone)
	var causes []string
	for i, at := range []time.Duration{0, Delay, Delay + heldFor/2, Delay + heldFor, Delay + heldFor + heldFor/2} {
		due, next := m.Note([]result.Waiting{held}, &metav1alpha1.Status{}, start.Add(at))
		for _, object := range due {
			m.Learn(object, at.String())
		}
		if i > 0 && !next.IsZero() {
			t.Errorf("after %s a pass is asked for at %s", at, next)
		}
		causes = append(causes, strings.TrimPrefix(m.Explain([]result.Waiting{held})[0].Message, "not Complete yet; "))
	}
	want := []string{"not Complete yet", "30s", "30s", "2m30s", "2m30s"}
	if !slices.Equal(causes, want) {
		t.Errorf("got the causes %q, want %q", causes, want)
	}
}

func TestTheTimeCountsFromTheStatusAfterARestart(t *testing.T) {
	var m State
	job := unready("a", "u", 1)
	before := &metav1alpha1.Status{
		Waiting:          []metav1alpha1.DependentReport{job.DependentReport},
		ProgressingSince: new(metav1.NewTime(start.Add(-Delay))),
	}
	if due, _ := m.Note([]result.Waiting{job, unready("b", "v", 1)}, before, start); len(due) != 1 || due[0].UID != "u" {
		t.Errorf("the causes of the wrong dependents are due: %v", due)
	}
}

func TestTheTimeOfADeletionCountsFromTheStatusAfterARestart(t *testing.T) {
	var m State
	held := unready("a", "u", 1)
	held.Reason = string(plan.WaitNotGone)
	before := &metav1alpha1.Status{
		Waiting: []metav1alpha1.DependentReport{held.DependentReport},
		Conditions: []metav1.Condition{{
			Type: metav1alpha1.ConditionReady, Status: metav1.ConditionFalse,
			LastTransitionTime: metav1.NewTime(start.Add(-Delay)),
		}},
	}
	if due, _ := m.Note([]result.Waiting{held}, before, start); len(due) != 1 || !due[0].Deleting {
		t.Errorf("the causes of the wrong dependents are due: %v", due)
	}
}

func TestOnlyTheDependentsThatTheStatusShowsAreRead(t *testing.T) {
	var m State
	var waiting []result.Waiting
	for i := range maxDependents + 5 {
		waiting = append(waiting, unready("a", types.UID('a'+rune(i)), 1))
	}
	m.Note(waiting, &metav1alpha1.Status{}, start)
	if due, _ := m.Note(waiting, &metav1alpha1.Status{}, start.Add(Delay)); len(due) != maxDependents {
		t.Errorf("the causes of %d dependents are due, want maxDependents", len(due))
	}
}

func TestTheCauseEndsTheMessage(t *testing.T) {
	var m State
	silent := unready("silent", "v", 1)
	silent.Message = ""
	waiting := []result.Waiting{unready("a", "u", 1), silent, unready("unknown", "w", 1)}
	m.Note(waiting, &metav1alpha1.Status{}, start)
	m.Learn(objectOf(waiting[0]), "FailedCreate: x")
	m.Learn(objectOf(waiting[1]), "FailedCreate: y")
	m.Learn(objectOf(unready("deleted", "x", 1)), "FailedCreate: z")
	var got []string
	for _, w := range m.Explain(waiting) {
		got = append(got, w.Message)
	}
	want := []string{"not Complete yet; FailedCreate: x", "FailedCreate: y", "not Complete yet"}
	if !slices.Equal(got, want) || waiting[0].Message != "not Complete yet" {
		t.Errorf("got %q", got)
	}
}
