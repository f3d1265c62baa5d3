package status

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

var update = flag.Bool("update", false, "write the golden files again")

func waits(name, reason, message string) result.Waiting {
	return result.Waiting{DependentReport: metav1alpha1.DependentReport{Dependent: name, Reason: reason, Message: message}}
}

func undefined(name string) result.Waiting {
	w := waits(name, metav1alpha1.ReasonKindNotServed, "it is not served, and nothing here defines it")
	w.Undefined = true
	return w
}

func fails(name, reason, message string, terminal bool) result.Waiting {
	w := waits(name, reason, message)
	w.Failed, w.Terminal = true, terminal
	return w
}

func blockedBy(count int, names ...string) []result.Blocked {
	return []result.Blocked{{Type: "Widget.example.com", Count: count, Names: names}}
}

// ends are the possible ends of a pass. testdata/conditions.golden contains the resulting conditions of the component.
var ends = []struct {
	name     string
	deleting bool
	outcome  outcome.Outcome
	problem  *passerror.Error
}{
	{name: "all is ready", outcome: outcome.Outcome{Outcome: result.Outcome{Applied: true, Ready: 12, Desired: 12}}},
	{name: "the only dependent is ready", outcome: outcome.Outcome{Outcome: result.Outcome{
		Applied: true, Ready: 1, Desired: 1,
	}}},
	{name: "an empty set is ready", outcome: outcome.Outcome{Outcome: result.Outcome{Applied: true}}},
	{name: "a dependent is not ready", outcome: outcome.Outcome{Outcome: result.Outcome{
		Ready: 1, Desired: 2, Waiting: []result.Waiting{waits("Deployment.apps shop/web", "InProgress", "0 of 1 replicas")},
	}}},
	{name: "a dependent without a message is named by its reason", outcome: outcome.Outcome{Outcome: result.Outcome{
		Desired: 1, Waiting: []result.Waiting{waits("ConfigMap shop/a", "Observing", "")},
	}}},
	{
		name: "four dependents are not ready",
		outcome: outcome.Outcome{Outcome: result.Outcome{Applied: true, Desired: 4, Waiting: []result.Waiting{
			waits("A a", "InProgress", "x"), waits("B b", "InProgress", "x"), waits("C c", "InProgress", "x"),
			waits("D d", "InProgress", "x"),
		}}},
	},
	{
		name: "only types are missing that nothing defines",
		outcome: outcome.Outcome{Outcome: result.Outcome{Desired: 3, Ready: 1, Waiting: []result.Waiting{
			undefined("ScaledObject.keda.sh shop/web"), undefined("ScaledObject.keda.sh shop/api"),
		}}},
	},
	{
		name: "a type is missing that nothing defines, and a dependent is not ready",
		outcome: outcome.Outcome{Outcome: result.Outcome{Desired: 2, Waiting: []result.Waiting{
			waits("Deployment.apps shop/web", "InProgress", "0 of 1 replicas"), undefined("ScaledObject.keda.sh shop/web"),
		}}},
	},
	{name: "pruning waits", outcome: outcome.Outcome{Outcome: result.Outcome{
		Applied: true, Ready: 2, Desired: 2, Waiting: []result.Waiting{waits("Deployment.apps shop/old", "NotGone",
			"it is being deleted")},
	}}},
	{name: "a failure goes away", outcome: outcome.Outcome{Outcome: result.Outcome{Desired: 2, Waiting: []result.Waiting{
		waits("A a", "InProgress", "x"), fails("ConfigMap shop/a", "InternalError", "the webhook does not serve", false),
	}}}},
	{
		name: "a failure does not go away",
		outcome: outcome.Outcome{Outcome: result.Outcome{Desired: 3, Waiting: []result.Waiting{
			waits("A a", "InProgress", "x"), fails("B b", "InternalError", "x", false),
			fails("Service shop/web", "Invalid", "spec.ports: Required value", true),
		}}},
	},
	{
		name: "somebody else owns a dependent",
		outcome: outcome.Outcome{Outcome: result.Outcome{Desired: 1, Waiting: []result.Waiting{
			fails("ConfigMap shop/a", metav1alpha1.ReasonOwnershipConflict, "it is owned by Component b/them; rename it here",
				true),
		}}},
	},
	{
		name: "it is not known whether an external was created",
		outcome: outcome.Outcome{Outcome: result.Outcome{Desired: 1, Waiting: []result.Waiting{
			fails("Schema.external.fairlead.io orders", metav1alpha1.ReasonCreateUncertain,
				"the result of its creation is not known", true),
		}}},
	},
	{
		name: "the recorded state of an external is damaged",
		outcome: outcome.Outcome{Outcome: result.Outcome{Desired: 2, Waiting: []result.Waiting{
			fails("B b", "Invalid", "x", true), fails("Schema.external.fairlead.io orders", "StateDamaged",
				"its recorded state is damaged", true),
		}}},
	},
	{name: "foreign instances forbid a prune", outcome: outcome.Outcome{Outcome: result.Outcome{
		Blocked: blockedBy(1, "Widget.example.com other/theirs"),
	}}},
	{name: "a deletion waits", deleting: true, outcome: outcome.Outcome{Outcome: result.Outcome{
		Waiting: []result.Waiting{waits("Deployment.apps shop/web", "NotGone", "it is being deleted")},
	}}},
	{name: "a deletion is retried", deleting: true, outcome: outcome.Outcome{Outcome: result.Outcome{
		Waiting: []result.Waiting{fails("ConfigMap shop/a", "Timeout", "slow", false)},
	}}},
	{
		name: "a deletion is forbidden", deleting: true,
		outcome: outcome.Outcome{Outcome: result.Outcome{Waiting: []result.Waiting{
			waits("A a", "NotGone", "x"), fails("ConfigMap shop/a", "Forbidden", "no rights", true),
		}}},
	},
	{
		name: "an object of a phase is not complete", deleting: true,
		outcome: outcome.Outcome{Outcome: result.Outcome{
			Phase: manifests.PhasePreDelete, Desired: 1,
			Waiting: []result.Waiting{
				waits("Job.batch shop/clean", "InProgress", "Job in progress"),
			},
		}},
	},
	{
		name: "an object of a phase failed", deleting: true,
		outcome: outcome.Outcome{Outcome: result.Outcome{
			Phase: manifests.PhasePreDelete, Desired: 1,
			Waiting: []result.Waiting{
				fails("Job.batch shop/clean", metav1alpha1.ReasonDependentFailed, "BackoffLimitExceeded", true),
			},
		}},
	},
	{
		name: "an object of a phase was not ready at its timeout", deleting: true,
		outcome: outcome.Outcome{Outcome: result.Outcome{
			Phase: manifests.PhasePreDelete, Desired: 1,
			Waiting: []result.Waiting{
				fails("Job.batch shop/clean", metav1alpha1.ReasonTimeout, "not ready within 5m0s: it runs", true),
			},
		}},
	},
	{
		name: "an object of a phase failed and was deleted", deleting: true,
		outcome: outcome.Outcome{Outcome: result.Outcome{
			Phase: manifests.PhasePreDelete, Desired: 1,
			Waiting: []result.Waiting{
				purged(fails("Job.batch shop/clean", metav1alpha1.ReasonDependentFailed, "BackoffLimitExceeded; it was deleted",
					true)),
			},
		}},
	},
	{
		name: "an object of a phase is refused", deleting: true,
		outcome: outcome.Outcome{Outcome: result.Outcome{
			Phase: manifests.PhasePostDelete, Desired: 1,
			Waiting: []result.Waiting{
				fails("Job.batch shop/clean", "Invalid", "spec.template: Required value", true),
			},
		}},
	},
	{name: "a foreign instance forbids a deletion", deleting: true, outcome: outcome.Outcome{Outcome: result.Outcome{
		Blocked: blockedBy(1, "Widget.example.com other/theirs"),
	}}},
	{name: "many foreign instances forbid a deletion", deleting: true, outcome: outcome.Outcome{Outcome: result.Outcome{
		Blocked: blockedBy(12, "Widget.example.com a", "Widget.example.com b"),
	}}},
	{
		name: "foreign instances that may not be named forbid a deletion", deleting: true,
		outcome: outcome.Outcome{Outcome: result.Outcome{
			Blocked: blockedBy(12),
		}},
	},
	{
		name: "it is not known whether foreign instances exist", deleting: true,
		outcome: outcome.Outcome{Outcome: result.Outcome{
			Blocked: []result.Blocked{{Type: "Widget.example.com", Error: "it cannot be listed"}},
		}},
	},
	{name: "two types have foreign instances", deleting: true, outcome: outcome.Outcome{Outcome: result.Outcome{
		Blocked: append(blockedBy(2, "Widget.example.com a", "Widget.example.com b"),
			result.Blocked{Type: "Gizmo.example.com", Count: 1, Names: []string{"Gizmo.example.com c"}}),
	}}},
	{
		name: "it is not known whether foreign instances of four types exist", deleting: true,
		outcome: outcome.Outcome{Outcome: result.Outcome{Blocked: []result.Blocked{
			{Type: "A.example.com", Error: strings.Repeat("it cannot be listed ", 50)},
			{Type: "B.example.com", Error: "x"},
			{Type: "C.example.com", Count: 12, Names: []string{"c"}},
			{Type: "D.example.com", Error: "x"},
		}}},
	},
	{
		name: "long messages of several dependents are shortened",
		outcome: outcome.Outcome{Outcome: result.Outcome{Desired: 2, Waiting: []result.Waiting{
			waits("A a", "InProgress", strings.Repeat("x", 2*maxOfSeveral)), waits("B b", "InProgress", "y"),
		}}},
	},
	{
		name: "of several dependents with long remedies, only the causes are named",
		outcome: outcome.Outcome{Outcome: result.Outcome{Desired: 2, Waiting: []result.Waiting{
			fails("ConfigMap shop/a", metav1alpha1.ReasonOwnershipConflict,
				"it is owned by b; "+strings.Repeat("to move it here, … ", 20)+"which deletes it", true),
			fails("Secret shop/b", "Immutable", "data: field is immutable (the field cannot change: keep its value; "+
				strings.Repeat("the annotation … ", 20)+"deletes it)", true),
		}}},
	},
	{name: "a problem goes away", problem: &passerror.Error{
		Reason:  metav1alpha1.ReasonRetrying,
		Message: "the API server does not answer",
	}},
	{name: "a problem does not go away", problem: &passerror.Error{
		Reason:  metav1alpha1.ReasonInvalidManifests,
		Message: "two\nmistakes", Terminal: true,
	}},
	{name: "reconciling is suspended", problem: &passerror.Error{
		Reason:  metav1alpha1.ReasonSuspended,
		Message: "reconciling is suspended in the spec", State: metav1alpha1.StateSuspended,
	}},
	{name: "somebody else's finalizers hold a deletion", deleting: true, problem: &passerror.Error{
		Reason:  metav1alpha1.ReasonForeignFinalizers,
		Message: "dependents are not deleted until other controllers have removed their finalizers: a/b",
		State:   metav1alpha1.StateDeleting,
	}},
}

func purged(w result.Waiting) result.Waiting {
	w.Purged = true
	return w
}

func TestConditions(t *testing.T) {
	var b strings.Builder
	for _, end := range ends {
		status := metav1alpha1.Status{}
		setResult(&status, 3, ResultOf(manifests.Key{}, end.deleting, end.outcome, end.problem), time.Unix(0, 0))
		fmt.Fprintf(&b, "%s\n  state %s\n", end.name, status.State)
		for _, c := range status.Conditions {
			fmt.Fprintf(&b, "  %s is %s, %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
			if c.ObservedGeneration != 3 {
				t.Errorf("%s: the condition %s has the observed generation %d, want 3", end.name, c.Type, c.ObservedGeneration)
			}
		}
		if status.ObservedGeneration != 3 {
			t.Errorf("%s: the status has the observed generation %d, want 3", end.name, status.ObservedGeneration)
		}
	}
	file := filepath.Join("testdata", "conditions.golden")
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("the golden file differs; run the test with -update, and review the difference:\n%s", diff)
	}
}

func TestConditionsChange(t *testing.T) {
	start, later := time.Unix(1000, 0), time.Unix(2000, 0)
	progressing := PassResult{metav1alpha1.StateProgressing, metav1alpha1.ReasonDependentsNotReady, "waiting"}
	ready := PassResult{metav1alpha1.StateReady, metav1alpha1.ReasonReady, "ready"}
	stalled := PassResult{metav1alpha1.StateStalled, metav1alpha1.ReasonTimeout, "too long"}
	types := func(status metav1alpha1.Status) string {
		var names []string
		for _, c := range status.Conditions {
			names = append(names, c.Type)
		}
		return strings.Join(names, " ")
	}
	for _, c := range []struct {
		name         string
		before, then PassResult
		types        string
		moved, kept  bool
	}{
		{"what is ready is not reconciling any more", progressing, ready, "Ready", true, false},
		{"what is stalled is not reconciling any more", progressing, stalled, "Ready Stalled", false, true},
		{"what is reconciling is not stalled any more", stalled, progressing, "Ready Reconciling", false, true},
		{"the time stands while the value stands", progressing, PassResult{
			progressing.State, progressing.Reason,
			"something else",
		}, "Ready Reconciling", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			since := metav1.NewTime(start)
			status := metav1alpha1.Status{ProgressingSince: &since}
			setResult(&status, 1, c.before, start)
			setResult(&status, 2, c.then, later)
			if got := types(status); got != c.types {
				t.Errorf("the conditions are %s", got)
			}
			if moved := status.Conditions[0].LastTransitionTime.Time.Equal(later); moved != c.moved {
				t.Errorf("the transition time of Ready changed: %v, want the opposite", moved)
			}
			if kept := status.ProgressingSince != nil; kept != c.kept {
				t.Errorf("the timeout of the component continues: %v, want the opposite", kept)
			}
			if got := status.Conditions[0].Message; got != c.then.Message {
				t.Errorf("the condition Ready has the wrong message %q", got)
			}
		})
	}
	t.Run("the same result leaves the same status", func(t *testing.T) {
		var status metav1alpha1.Status
		setResult(&status, 1, progressing, start)
		before := status.DeepCopy()
		setResult(&status, 1, progressing, later)
		if diff := cmp.Diff(*before, status); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a suspended component has no timeout", func(t *testing.T) {
		since := metav1.NewTime(start)
		status := metav1alpha1.Status{ProgressingSince: &since}
		setResult(&status, 1, PassResult{State: metav1alpha1.StateSuspended, Reason: metav1alpha1.ReasonSuspended}, later)
		if status.ProgressingSince != nil {
			t.Error("the timeout of the component was not ended")
		}
	})
}

func TestMessagesOfConditionsAreBounded(t *testing.T) {
	var status metav1alpha1.Status
	setResult(&status, 1, PassResult{State: metav1alpha1.StateStalled, Reason: "X", Message: strings.Repeat("ä", 5000)},
		time.Unix(0, 0))
	if got := len(status.Conditions[0].Message); got > 4096 || got < 4000 {
		t.Errorf("the message has %d bytes, want 4000 to 4096", got)
	}
}

func TestCount(t *testing.T) {
	var waiting []result.Waiting
	for i := range 12 {
		waiting = append(waiting, waits(fmt.Sprintf("A a%d", i), "InProgress", strings.Repeat("x", 2000)))
	}
	status := metav1alpha1.Status{Waiting: make([]metav1alpha1.DependentReport, 1)}
	inventory := []metav1alpha1.InventoryEntry{
		{Version: "v1", Kind: "ConfigMap", Name: "a"},
		{Version: "v1", Kind: "ConfigMap", Name: "b"},
	}
	count(&status, false, outcome.Outcome{Outcome: result.Outcome{
		Inventory: inventory, Ready: 1, Desired: 2, Waiting: waiting,
	}})
	if diff := cmp.Diff(metav1alpha1.DependentCounts{Total: 2, Ready: 1, Summary: "1/2"}, status.Dependents); diff != "" {
		t.Error(diff)
	}
	if len(status.Waiting) != 10 || status.Waiting[9].Dependent != "A a9" || len(status.Waiting[0].Message) > 1024 {
		t.Errorf("the status names %d waiting dependents, want the first 10 with short messages", len(status.Waiting))
	}

	t.Run("no dependent is listed when all work is done", func(t *testing.T) {
		count(&status, false, outcome.Outcome{})
		if status.Waiting != nil || status.Dependents.Summary != "0/0" {
			t.Errorf("got %+v", status)
		}
	})
}

func TestCountInDeletion(t *testing.T) {
	inventory := make([]metav1alpha1.InventoryEntry, 4)
	for _, c := range []struct {
		name    string
		outcome outcome.Outcome
		want    string
	}{
		{"one that is refused leaves what is ready", outcome.Outcome{Outcome: result.Outcome{
			Inventory: inventory, Blocked: blockedBy(1, "Widget.example.com a"),
		}}, "3 of 4: 3/4"},
		{"one that goes on counts what is left", outcome.Outcome{Outcome: result.Outcome{
			Inventory: inventory,
		}}, "0 of 4: 0/4"},
		{"a phase counts its own objects", outcome.Outcome{Outcome: result.Outcome{
			Inventory: inventory, Phase: manifests.PhasePreDelete, Ready: 1, Desired: 2,
		}}, "1 of 4: 1/2"},
		{"nothing is left in the end", outcome.Outcome{}, "0 of 0: 0/0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			counts := metav1alpha1.DependentCounts{Total: 4, Ready: 3, Summary: "3/4"}
			countReady(&counts, true, c.outcome)
			if got := fmt.Sprintf("%d of %d: %s", counts.Ready, counts.Total, counts.Summary); got != c.want {
				t.Errorf("the counts of dependents are %s", got)
			}
		})
	}
}

func TestDescribeChanges(t *testing.T) {
	change := func(verb string, wave int) result.Change {
		return result.Change{
			Verb: verb, Key: manifests.Key{Kind: "ConfigMap", Namespace: "shop", Name: "a"}, Wave: wave,
			Reason: "it is new",
		}
	}
	adoption := func(from string) result.Change {
		c := change("Adopt", 1)
		c.Reason, c.From = "it exists and no component owns it", from
		return c
	}
	for _, c := range []struct {
		name    string
		changes []result.Change
		want    string
	}{
		{
			"an adoption says who had the object",
			[]result.Change{adoption("the Helm release shop/web")},
			"adopt ConfigMap shop/a in wave 1: it exists and no component owns it, adopted from the Helm release shop/web",
		},
		{
			"an adoption says what a user has to know besides",
			func() []result.Change {
				c := adoption("nobody")
				c.Note = "it is complete already"
				return []result.Change{c}
			}(),
			"adopt ConfigMap shop/a in wave 1: it exists and no component owns it; it is complete already",
		},
		{
			"several adoptions, too, with the objects",
			func() []result.Change {
				c := adoption("nobody")
				c.Note = "it is complete already"
				return []result.Change{adoption("nobody"), c}
			}(),
			"adopt 2 in wave 1; adopted from nobody 2; ConfigMap shop/a: it is complete already",
		},
		{
			"an adoption from nobody is described by its reason",
			[]result.Change{adoption("nobody")},
			"adopt ConfigMap shop/a in wave 1: it exists and no component owns it",
		},
		{
			"several adoptions are counted by those who had the objects",
			[]result.Change{
				change("Create", 1), adoption("the Helm release shop/web"), adoption("nobody"),
				adoption("the Helm release shop/web"),
			},
			"create 1 in wave 1, adopt 3 in wave 1; adopted from the Helm release shop/web 2, nobody 1",
		},
		{"one change is named", []result.Change{change("Create", 1)}, "create ConfigMap shop/a in wave 1: it is new"},
		{"more are counted, by wave and verb, in order", []result.Change{
			change("Create", 1), change("Apply", 1), change("Create", 1), change("Create", 2), change("Apply", 1),
		}, "create 2 in wave 1, apply 2 in wave 1, create 1 in wave 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := describeChanges(c.changes); got != c.want {
				t.Errorf("the changes are described as %s", got)
			}
		})
	}
}

func TestNextKeepsTheStatusBefore(t *testing.T) {
	now := time.Unix(1000, 0)
	var before metav1alpha1.Status
	setResult(&before, 1, PassResult{metav1alpha1.StateProgressing, metav1alpha1.ReasonDependentsNotReady, "waiting"}, now)
	kept := before.DeepCopy()
	ready := outcome.Outcome{Outcome: result.Outcome{
		Inventory: make([]metav1alpha1.InventoryEntry, 1), Applied: true, Ready: 1, Desired: 1,
	}}
	next, v := Next(before, Report{Generation: 2, Outcome: ready, Acknowledged: "now", Now: now.Add(time.Minute)})
	if v.State != metav1alpha1.StateReady || next.Dependents.Summary != "1/1" || next.LastHandledReconcileAt != "now" {
		t.Errorf("got %+v", next)
	}
	if diff := cmp.Diff(*kept, before); diff != "" {
		t.Errorf("the function changed the previous status:\n%s", diff)
	}
}

func TestNextKeepsCountsOfAnInventoryThatIsNotRecorded(t *testing.T) {
	before := metav1alpha1.Status{Dependents: metav1alpha1.DependentCounts{Total: 3, Ready: 3, Summary: "3/3"}}
	failure := &passerror.Error{Reason: metav1alpha1.ReasonForbidden, Message: "no Secrets", Terminal: true}
	o := outcome.Outcome{Outcome: result.Outcome{Inventory: make([]metav1alpha1.InventoryEntry, 5), Ready: 5, Desired: 5}}
	next, v := Next(before, Report{Outcome: o, Failure: failure, KeepCounts: true, Now: time.Unix(0, 0)})
	if next.Dependents != before.Dependents || v.State != metav1alpha1.StateStalled {
		t.Errorf("got %+v, %+v", next.Dependents, v)
	}
}

func TestProgressBecomesStalledAfterItsTimeout(t *testing.T) {
	now := time.Unix(1000, 0)
	waiting := PassResult{metav1alpha1.StateProgressing, metav1alpha1.ReasonDependentsNotReady, "waiting"}
	v, since := waiting.WithTimeout(nil, time.Minute, now)
	if v != waiting || !since.Time.Equal(now) {
		t.Errorf("the result is %+v since %s", v, since)
	}
	v, since = waiting.WithTimeout(since, time.Minute, now.Add(time.Minute))
	want := PassResult{metav1alpha1.StateStalled, metav1alpha1.ReasonTimeout, "not ready within 1m0s; waiting"}
	if v != want || !since.Time.Equal(now) {
		t.Errorf("the result is %+v since %s", v, since)
	}
	if v, _ := waiting.WithTimeout(since, 0, now.Add(time.Hour)); v != waiting {
		t.Errorf("the result without a timeout is %+v, want no change", v)
	}
}

func TestTheTimeoutDoesNotRunWhileAComponentWaitsForAnotherObject(t *testing.T) {
	began := time.Unix(1000, 0)
	status, late := metav1alpha1.Status{ProgressingSince: new(metav1.NewTime(began))}, began.Add(time.Hour)
	failure := &passerror.Error{Reason: metav1alpha1.ReasonExportMissing, Message: "it waits", Terminal: true, Waits: true}
	status, v := Next(status, Report{Failure: failure, Timeout: time.Minute, Now: late})
	if v.State != metav1alpha1.StateProgressing || v.Reason != metav1alpha1.ReasonExportMissing ||
		status.ProgressingSince != nil {
		t.Errorf("the result is %+v since %s", v, status.ProgressingSince)
	}
	status, v = Next(status, Report{
		Failure: &passerror.Error{Reason: metav1alpha1.ReasonRetrying}, Timeout: time.Minute, Now: late,
	})
	if v.Reason != metav1alpha1.ReasonRetrying || !status.ProgressingSince.Time.Equal(late) {
		t.Errorf("after the wait the result is %+v since %s, want the full time", v, status.ProgressingSince)
	}
}

func TestPinnedValuesAreACondition(t *testing.T) {
	now := time.Unix(0, 0)
	pinned := WithPinnedValues(metav1alpha1.Status{}, "Secret shop/a data.x", 2, now)
	if len(pinned.Conditions) != 1 || !strings.Contains(pinned.Conditions[0].Message, "Secret shop/a data.x") {
		t.Errorf("got %+v", pinned.Conditions)
	}
	if ended := WithPinnedValues(pinned, "", 2, now); len(ended.Conditions) != 0 || len(pinned.Conditions) != 1 {
		t.Errorf("got %+v", ended.Conditions)
	}
}

func TestTheStatusListsTheTypesThatBlockADeletion(t *testing.T) {
	blocked := append(blockedBy(12, "Widget.example.com a"), result.Blocked{
		Type:  "Gizmo.example.com",
		Error: "it cannot be listed",
	})
	for n := range MaxReports {
		blocked = append(blocked, result.Blocked{Type: fmt.Sprint(n), Count: 1})
	}
	report := Report{Deleting: true, Now: time.Unix(0, 0), Outcome: outcome.Outcome{Outcome: result.Outcome{
		Inventory: []metav1alpha1.InventoryEntry{{}}, Blocked: blocked,
	}}}
	next, _ := Next(metav1alpha1.Status{}, report)
	want := []metav1alpha1.BlockReport{
		{Type: "Widget.example.com", Count: 12, Names: []string{"Widget.example.com a"}},
		{Type: "Gizmo.example.com", Message: "it cannot be listed"},
	}
	if diff := cmp.Diff(want, next.Blocked[:2]); diff != "" || len(next.Blocked) != MaxReports {
		t.Errorf("the status names %d blocking types, with the difference %s", len(next.Blocked), diff)
	}
	report.Outcome.Blocked = nil
	if next, _ = Next(next, report); next.Blocked != nil {
		t.Errorf("got %v although nothing blocks the deletion any more", next.Blocked)
	}
}

func TestTheMessageAboutARefusedSetSaysHowManyObjectsItLeavesOut(t *testing.T) {
	invalid := func(n int) (o outcome.Outcome) {
		o.Held = true
		for i := range n {
			o.Waiting = append(o.Waiting, result.Waiting{
				DependentReport: metav1alpha1.DependentReport{Dependent: settingsNumbered(i).String(), Message: "bad"},
				Failed:          true, Terminal: true,
			})
		}
		return o
	}
	const command = "; fairlead plan -n shop web prints them all, with their files"
	const begin = "nothing more of this revision is written, because it is invalid: ConfigMap shop/settings-0 (bad)"
	for n, want := range map[int]string{
		1:  begin,
		2:  begin + ", ConfigMap shop/settings-1 (bad)" + command,
		12: begin + ", ConfigMap shop/settings-1 (bad), ConfigMap shop/settings-2 (bad) and 9 more" + command,
	} {
		component := manifests.Key{Group: "fairlead.io", Kind: "Component", Namespace: "shop", Name: "web"}
		got := ResultOf(component, false, invalid(n), nil)
		if got.Message != want || got.Reason != metav1alpha1.ReasonInvalidManifests {
			t.Errorf("%d invalid objects: %+v, want %q", n, got, want)
		}
		component.Group = "apps.example.com" // No command of fairlead makes the plan of another operator.
		if got, want := ResultOf(component, false, invalid(n), nil).Message, strings.TrimSuffix(want, command); got != want {
			t.Errorf("%d invalid objects of another operator: %q, want %q", n, got, want)
		}
	}
}
