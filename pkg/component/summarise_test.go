package component

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"

	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
)

var update = flag.Bool("update", false, "write the golden files anew")

func waits(name, reason, message string) Waiting {
	return Waiting{DependentReport: metav1alpha1.DependentReport{Dependent: name, Reason: reason, Message: message}}
}

func fails(name, reason, message string, terminal bool) Waiting {
	w := waits(name, reason, message)
	w.Failed, w.Terminal = true, terminal
	return w
}

func blockedBy(count int, names ...string) []Blocked {
	return []Blocked{{Type: "Widget.example.com", Count: count, Names: names}}
}

// ends are the ends that a pass can have. What they mean for a component is in testdata/conditions.golden.
var ends = []struct {
	name     string
	deleting bool
	outcome  Outcome
	problem  *condition.Error
}{
	{name: "all is ready", outcome: Outcome{Applied: true, Ready: 12, Desired: 12}},
	{name: "the only dependent is ready", outcome: Outcome{Applied: true, Ready: 1, Desired: 1}},
	{name: "an empty set is ready", outcome: Outcome{Applied: true}},
	{name: "a dependent is not ready", outcome: Outcome{Ready: 1, Desired: 2, Waiting: []Waiting{waits("Deployment.apps shop/web", "InProgress", "0 of 1 replicas")}}},
	{name: "a dependent without a message is named by its reason", outcome: Outcome{Desired: 1, Waiting: []Waiting{waits("ConfigMap shop/a", "Observing", "")}}},
	{name: "four dependents are not ready", outcome: Outcome{Applied: true, Desired: 4, Waiting: []Waiting{
		waits("A a", "InProgress", "x"), waits("B b", "InProgress", "x"), waits("C c", "InProgress", "x"), waits("D d", "InProgress", "x"),
	}}},
	{name: "pruning waits", outcome: Outcome{Applied: true, Ready: 2, Desired: 2, Waiting: []Waiting{waits("Deployment.apps shop/old", "NotGone", "it is being deleted")}}},
	{name: "a failure goes away", outcome: Outcome{Desired: 2, Waiting: []Waiting{
		waits("A a", "InProgress", "x"), fails("ConfigMap shop/a", "InternalError", "the webhook does not serve", false),
	}}},
	{name: "a failure does not go away", outcome: Outcome{Desired: 3, Waiting: []Waiting{
		waits("A a", "InProgress", "x"), fails("B b", "InternalError", "x", false), fails("Service shop/web", "Invalid", "spec.ports: Required value", true),
	}}},
	{name: "somebody else owns a dependent", outcome: Outcome{Desired: 1, Waiting: []Waiting{
		fails("ConfigMap shop/a", metav1alpha1.ReasonOwnershipConflict, "it is owned by Component b/them; rename it here, or remove it there", true),
	}}},
	{name: "foreign instances forbid a prune", outcome: Outcome{Blocked: blockedBy(1, "Widget.example.com other/theirs")}},
	{name: "a deletion waits", deleting: true, outcome: Outcome{Waiting: []Waiting{waits("Deployment.apps shop/web", "NotGone", "finalizers or pods may hold it")}}},
	{name: "a deletion is retried", deleting: true, outcome: Outcome{Waiting: []Waiting{fails("ConfigMap shop/a", "Timeout", "slow", false)}}},
	{name: "a deletion is forbidden", deleting: true, outcome: Outcome{Waiting: []Waiting{
		waits("A a", "NotGone", "x"), fails("ConfigMap shop/a", "Forbidden", "no rights", true),
	}}},
	{name: "an object of a phase is not complete", deleting: true, outcome: Outcome{Phase: manifests.PhasePreDelete, Desired: 1, Waiting: []Waiting{
		waits("Job.batch shop/clean", "InProgress", "Job in progress"),
	}}},
	{name: "an object of a phase failed", deleting: true, outcome: Outcome{Phase: manifests.PhasePreDelete, Desired: 1, Waiting: []Waiting{
		fails("Job.batch shop/clean", metav1alpha1.ReasonDependentFailed, "BackoffLimitExceeded", true),
	}}},
	{name: "an object of a phase is refused", deleting: true, outcome: Outcome{Phase: manifests.PhasePostDelete, Desired: 1, Waiting: []Waiting{
		fails("Job.batch shop/clean", "Invalid", "spec.template: Required value", true),
	}}},
	{name: "a foreign instance forbids a deletion", deleting: true, outcome: Outcome{Blocked: blockedBy(1, "Widget.example.com other/theirs")}},
	{name: "many foreign instances forbid a deletion", deleting: true, outcome: Outcome{Blocked: blockedBy(12, "Widget.example.com a", "Widget.example.com b")}},
	{name: "it is not known whether foreign instances exist", deleting: true, outcome: Outcome{Blocked: []Blocked{{Type: "Widget.example.com", Error: "it cannot be listed"}}}},
	{name: "two types have foreign instances", deleting: true, outcome: Outcome{Blocked: append(blockedBy(2, "Widget.example.com a", "Widget.example.com b"), Blocked{Type: "Gizmo.example.com", Count: 1, Names: []string{"Gizmo.example.com c"}})}},
	{name: "a problem goes away", problem: &condition.Error{Reason: metav1alpha1.ReasonRetrying, Message: "the API server does not answer"}},
	{name: "a problem does not go away", problem: &condition.Error{Reason: metav1alpha1.ReasonInvalidManifests, Message: "two\nmistakes", Terminal: true}},
	{name: "reconciling is suspended", problem: &condition.Error{Reason: metav1alpha1.ReasonSuspended, Message: "reconciling is suspended in the spec", State: metav1alpha1.StateSuspended}},
	{name: "somebody else's finalizers hold a deletion", deleting: true, problem: &condition.Error{
		Reason: metav1alpha1.ReasonForeignFinalizers, Message: "dependents stay until the finalizers of others are gone: a/b", State: metav1alpha1.StateDeleting,
	}},
}

func TestConditions(t *testing.T) {
	var b strings.Builder
	for _, end := range ends {
		status := metav1alpha1.Status{}
		summarise(&status, 3, judge(end.deleting, end.outcome, end.problem), time.Unix(0, 0))
		fmt.Fprintf(&b, "%s\n  state %s\n", end.name, status.State)
		for _, c := range status.Conditions {
			fmt.Fprintf(&b, "  %s is %s, %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
			if c.ObservedGeneration != 3 {
				t.Errorf("%s: %s speaks of generation %d", end.name, c.Type, c.ObservedGeneration)
			}
		}
		if status.ObservedGeneration != 3 {
			t.Errorf("%s: the status speaks of generation %d", end.name, status.ObservedGeneration)
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
		t.Errorf("run with -update, and review the difference:\n%s", diff)
	}
}

func TestConditionsChange(t *testing.T) {
	start, later := time.Unix(1000, 0), time.Unix(2000, 0)
	progressing := verdict{metav1alpha1.StateProgressing, metav1alpha1.ReasonDependentsNotReady, "waiting"}
	ready := verdict{metav1alpha1.StateReady, metav1alpha1.ReasonReady, "ready"}
	stalled := verdict{metav1alpha1.StateStalled, metav1alpha1.ReasonTimeout, "too long"}
	types := func(status metav1alpha1.Status) string {
		var names []string
		for _, c := range status.Conditions {
			names = append(names, c.Type)
		}
		return strings.Join(names, " ")
	}
	for _, c := range []struct {
		name         string
		before, then verdict
		types        string
		moved, kept  bool
	}{
		{"what is ready is not reconciling any more", progressing, ready, "Ready", true, false},
		{"what is stalled is not reconciling any more", progressing, stalled, "Ready Stalled", false, true},
		{"what is reconciling is not stalled any more", stalled, progressing, "Ready Reconciling", false, true},
		{"the time stands while the value stands", progressing, verdict{progressing.state, progressing.reason, "something else"}, "Ready Reconciling", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			since := metav1.NewTime(start)
			status := metav1alpha1.Status{ProgressingSince: &since}
			summarise(&status, 1, c.before, start)
			summarise(&status, 2, c.then, later)
			if got := types(status); got != c.types {
				t.Errorf("the conditions are %s", got)
			}
			if moved := status.Conditions[0].LastTransitionTime.Time.Equal(later); moved != c.moved {
				t.Errorf("the time of Ready moved: %v", moved)
			}
			if kept := status.ProgressingSince != nil; kept != c.kept {
				t.Errorf("the time-out goes on: %v", kept)
			}
			if got := status.Conditions[0].Message; got != c.then.message {
				t.Errorf("the message is %q", got)
			}
		})
	}
	t.Run("the same verdict leaves the same status", func(t *testing.T) {
		var status metav1alpha1.Status
		summarise(&status, 1, progressing, start)
		before := status.DeepCopy()
		summarise(&status, 1, progressing, later)
		if diff := cmp.Diff(*before, status); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("what is suspended has no time-out", func(t *testing.T) {
		since := metav1.NewTime(start)
		status := metav1alpha1.Status{ProgressingSince: &since}
		summarise(&status, 1, verdict{state: metav1alpha1.StateSuspended, reason: metav1alpha1.ReasonSuspended}, later)
		if status.ProgressingSince != nil {
			t.Error("it goes on")
		}
	})
}

func TestTruncate(t *testing.T) {
	for _, c := range []struct {
		name, text string
		limit      int
		want       string
	}{
		{"a short text stays", "short", 10, "short"},
		{"a text that just fits stays", "0123456789", 10, "0123456789"},
		{"a long text is cut", "0123456789a", 10, "012345 …"},
		{"no letter is cut in two", "01234äöü", 10, "01234 …"},
		{"what is no letter is dropped", "a\xffb", 10, "ab"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := condition.Truncate(c.text, c.limit)
			if got != c.want || len(got) > c.limit || !utf8.ValidString(got) {
				t.Errorf("got %q", got)
			}
		})
	}
	t.Run("the message of a condition has 4096 bytes at the most", func(t *testing.T) {
		var status metav1alpha1.Status
		summarise(&status, 1, verdict{state: metav1alpha1.StateStalled, reason: "X", message: strings.Repeat("ä", 5000)}, time.Unix(0, 0))
		if got := len(status.Conditions[0].Message); got > 4096 || got < 4000 {
			t.Errorf("it has %d", got)
		}
	})
}

func TestCount(t *testing.T) {
	var waiting []Waiting
	for i := range 12 {
		waiting = append(waiting, waits(fmt.Sprintf("A a%d", i), "InProgress", strings.Repeat("x", 2000)))
	}
	status := metav1alpha1.Status{Waiting: make([]metav1alpha1.DependentReport, 1)}
	inventory := []metav1alpha1.InventoryEntry{{Version: "v1", Kind: "ConfigMap", Name: "a"}, {Version: "v1", Kind: "ConfigMap", Name: "b"}}
	count(&status, false, Outcome{Inventory: inventory, Ready: 1, Desired: 2, Waiting: waiting})
	if diff := cmp.Diff(metav1alpha1.DependentCounts{Total: 2, Ready: 1, Summary: "1/2"}, status.Dependents); diff != "" {
		t.Error(diff)
	}
	if len(status.Waiting) != 10 || status.Waiting[9].Dependent != "A a9" || len(status.Waiting[0].Message) > 1024 {
		t.Errorf("named: %d", len(status.Waiting))
	}

	t.Run("nobody is named any more when all is done", func(t *testing.T) {
		count(&status, false, Outcome{})
		if status.Waiting != nil || status.Dependents.Summary != "0/0" {
			t.Errorf("got %+v", status)
		}
	})
}

func TestCountInDeletion(t *testing.T) {
	inventory := make([]metav1alpha1.InventoryEntry, 4)
	for _, c := range []struct {
		name    string
		outcome Outcome
		want    string
	}{
		{"one that is refused leaves what is ready", Outcome{Inventory: inventory, Blocked: blockedBy(1, "Widget.example.com a")}, "3 of 4: 3/4"},
		{"one that goes on counts what is left", Outcome{Inventory: inventory}, "0 of 4: 0/4"},
		{"a phase counts its own objects", Outcome{Inventory: inventory, Phase: manifests.PhasePreDelete, Ready: 1, Desired: 2}, "1 of 4: 1/2"},
		{"nothing is left in the end", Outcome{}, "0 of 0: 0/0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			counts := metav1alpha1.DependentCounts{Total: 4, Ready: 3, Summary: "3/4"}
			countReady(&counts, true, c.outcome)
			if got := fmt.Sprintf("%d of %d: %s", counts.Ready, counts.Total, counts.Summary); got != c.want {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestDescribeChanges(t *testing.T) {
	change := func(verb string, wave int) Change {
		return Change{Verb: verb, Key: manifests.Key{Kind: "ConfigMap", Namespace: "shop", Name: "a"}, Wave: wave, Reason: "it is new"}
	}
	for _, c := range []struct {
		name    string
		changes []Change
		want    string
	}{
		{"one change is named", []Change{change("Create", 1)}, "create ConfigMap shop/a in wave 1: it is new"},
		{"more are counted, by wave and verb, in order", []Change{
			change("Create", 1), change("Apply", 1), change("Create", 1), change("Create", 2), change("Apply", 1),
		}, "create 2 in wave 1, apply 2 in wave 1, create 1 in wave 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := describeChanges(c.changes); got != c.want {
				t.Errorf("got %s", got)
			}
		})
	}
}
