package status

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestLogLine(t *testing.T) {
	at := func(v PassResult) *metav1alpha1.Status {
		status := &metav1alpha1.Status{}
		setResult(status, 1, v, time.Unix(0, 0))
		return status
	}
	verbs := func(names ...string) (changes []result.Change) {
		for _, name := range names {
			changes = append(changes, result.Change{Verb: name})
		}
		return changes
	}
	ready := PassResult{metav1alpha1.StateReady, metav1alpha1.ReasonReady, "2 dependents are ready"}
	waiting := PassResult{
		metav1alpha1.StateProgressing, metav1alpha1.ReasonDependentsNotReady,
		"waiting until ready: web (0/2)",
	}
	stalled := PassResult{metav1alpha1.StateStalled, metav1alpha1.ReasonGenerateFailed, "a.yaml:1: no"}
	for _, c := range []struct {
		name    string
		changes []result.Change
		then    PassResult
		before  *metav1alpha1.Status
		want    string
	}{
		{
			"the first pass", verbs("Create", "Create", "Apply"), waiting, &metav1alpha1.Status{},
			`"changes"="create 2, apply 1" "state"="Progressing"`,
		},
		{
			"a component that becomes ready", nil, ready, at(waiting),
			`"changes"="" "state"="Ready" "reason"="Ready" "message"="2 dependents are ready"`,
		},
		{"a repair", verbs("Apply"), ready, at(ready), `"changes"="apply 1" "state"="Ready"`},
		{"one that stalls", nil, stalled, at(ready), `"state"="Stalled" "reason"="GenerateFailed" "message"="a.yaml:1: no"`},
		{
			"one that stalls in another way", nil,
			PassResult{stalled.State, stalled.Reason, "b.yaml:2: no"},
			at(stalled),
			`b.yaml:2`,
		},
		{
			"one that begins to retry", nil,
			PassResult{waiting.State, metav1alpha1.ReasonRetrying, "slow"},
			at(waiting),
			`"reason"="Retrying" "message"="slow"`,
		},
		{"nothing of one that stays ready", nil, ready, at(ready), ""},
		{"nothing of one that stays stalled", nil, stalled, at(stalled), ""},
		{
			"nothing of one that stays stalled for several reasons", nil,
			PassResult{stalled.State, stalled.Reason, "a\nb"},
			at(PassResult{stalled.State, stalled.Reason, "a\nb"}), "",
		},
		{
			"nothing of one that comes closer", nil,
			PassResult{waiting.State, waiting.Reason, "waiting until ready: web (1/2)"},
			at(waiting), "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var parts []string
			for pair := range slices.Chunk(LogLine(c.before, at(c.then), c.changes), 2) {
				parts = append(parts, fmt.Sprintf("%q=%q", pair[0], fmt.Sprint(pair[1])))
			}
			got := strings.Join(parts, " ")
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("the event was logged as %q", got)
			}
		})
	}
}

func TestEventsNameANamespaceThatIsKept(t *testing.T) {
	kept := result.Change{
		Verb: "Orphan", Key: manifests.Key{Kind: "Namespace", Name: "shop"},
		Reason: "it was created for dependents, and is kept", Note: "it contains objects of others (1)",
	}
	const reason = "it was created for dependents, and is kept; it contains objects of others (1)"
	for _, c := range []struct {
		name    string
		changes []result.Change
		want    string
	}{
		{"alone", []result.Change{kept}, "orphan Namespace shop in wave 0: " + reason},
		{
			"with other changes",
			[]result.Change{{Verb: "Delete"}, kept},
			"delete 1 in wave 0, orphan 1 in wave 0; Namespace shop: " + reason,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := ChangesEvent(&metav1alpha1.Status{}, c.changes).Note; got != c.want {
				t.Errorf("the note is  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestEventsOfRepairsSayThatTheComponentWasRepaired(t *testing.T) {
	ready := PassResult{metav1alpha1.StateReady, metav1alpha1.ReasonReady, "2 dependents are ready"}
	changes := []result.Change{{Verb: "Apply", Reason: "its labels were edited"}}
	at := func(state metav1alpha1.State, revision, rendition int64) *metav1alpha1.Status {
		return &metav1alpha1.Status{State: state, Revision: revision, Rendition: rendition}
	}
	for _, c := range []struct {
		name    string
		before  *metav1alpha1.Status
		changes []result.Change
		want    string
	}{
		{"a repair", at(metav1alpha1.StateReady, 2, 1), changes, "Repaired"},
		{"a new revision", at(metav1alpha1.StateReady, 1, 0), changes, "Ready"},
		{"a new rendition", at(metav1alpha1.StateReady, 2, 0), changes, "Ready"},
		{"a component that becomes ready", at(metav1alpha1.StateProgressing, 2, 1), changes, "Ready"},
		{"no change", at(metav1alpha1.StateReady, 2, 1), nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := EventOf(c.before, at(metav1alpha1.StateReady, 2, 1), c.changes, ready).Reason; got != c.want {
				t.Errorf("the reason is %q, want %q", got, c.want)
			}
		})
	}
}

func TestAnEventAboutProgressHasNoReasonOfAProblem(t *testing.T) {
	waiting := PassResult{
		metav1alpha1.StateProgressing, metav1alpha1.ReasonDependentsNotReady,
		"waiting until ready: web (0/2)",
	}
	event := EventOf(&metav1alpha1.Status{}, &metav1alpha1.Status{}, []result.Change{{Verb: "Create"}}, waiting)
	if event.Type != "Normal" || event.Reason != "Applied" {
		t.Errorf("got %+v, want a normal event with the reason Applied", event)
	}
}
