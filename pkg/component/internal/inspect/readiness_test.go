package inspect

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
)

var ours = View{Reconciler: reconciler}

// widgetWith returns a ready widget with a condition.
func widgetWith(t *testing.T, condition, status string) *unstructured.Unstructured {
	t.Helper()
	obj := object(t, "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, generation: 2}, status: "+status+"}")
	obj.SetAnnotations(map[string]string{reconciler + "/ready-when": condition})
	return obj
}

func TestConditionsOfReadiness(t *testing.T) {
	const wide = "self.status.list.all(a, self.status.list.all(b, self.status.list.all(c, a == b || b == c || a != c)))"
	items := "[" + strings.Repeat("1, ", 300) + "2]"
	for _, c := range []struct {
		name, condition, status string
		want                    ready.State
		message                 string
	}{
		{"is ready if the value is true", `self.status.phase == "Bound"`, "{phase: Bound}", ready.Ready, ""},
		{
			"is in progress if the value is false", `self.status.phase == "Bound"`, "{phase: Pending}", ready.InProgress,
			`ready-when: self.status.phase == "Bound" is false (self.status.phase is "Pending")`,
		},
		{
			"is in progress if a field is missing", "self.status.ready > 1", "{phase: Pending}", ready.InProgress,
			"ready-when: self.status.ready > 1 has no value yet (self.status.ready is not set)",
		},
		{
			"is in progress if the value is neither true nor false", "self.status.phase", "{phase: Bound}", ready.InProgress,
			`ready-when: expression "self.status.phase": the value is a text; true or false is expected`,
		},
		{
			"is in progress if the evaluation fails", "self.status.phase > 1", "{phase: Bound}", ready.InProgress,
			`ready-when: expression "self.status.phase > 1": line 1, column 19: no such overload`,
		},
		{
			"is in progress if the evaluation takes too long", wide, "{list: " + items + "}", ready.InProgress,
			"ready-when: expression",
		},
		{
			"is in progress by its status, whatever the condition says", "self.status.phase == 'Bound'",
			"{phase: Bound, observedGeneration: 1}", ready.InProgress,
			"Widget generation is 2, but latest observed generation is 1",
		},
		{
			"has failed by its status, whatever the condition says", "self.status.phase == 'Bound'",
			"{phase: Bound, conditions: [{type: Stalled, status: 'True', message: broken}]}", ready.Failed, "broken",
		},
		{"ignores an unreadable condition, which is drift", "self.", "{}", ready.Ready, ""},
		{
			"is unknown if the operator has no such condition", "go/other", "{}", ready.Unknown,
			"ready-when: the condition go/other exists only in its operator",
		},
		{"is ready if the condition in Go holds", "go/bound", "{phase: Bound}", ready.Ready, ""},
		{
			"is in progress with the message of a condition in Go", "go/bound", "{phase: Lost}", ready.InProgress,
			"ready-when: go/bound: it is Lost",
		},
		{
			"is in progress with a text of our own without a message", "go/never", "{}", ready.InProgress,
			"ready-when: go/never does not hold",
		},
		{
			"is in progress after a panic of a condition in Go", "go/panics", "{}", ready.InProgress,
			"ready-when: go/panics panicked: oh no",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			obj := widgetWith(t, c.condition, c.status)
			got := View{Reconciler: reconciler, Conditions: conditionsInGo}.Readiness(t.Context(), obj)
			if got.State != c.want || !strings.HasPrefix(got.Message, c.message) || c.message == "" && got.Message != "" {
				t.Errorf("the readiness is %+v, want %s, %q", got, c.want, c.message)
			}
			if _, changed := obj.Object["changed"]; changed {
				t.Error("a condition changed the object")
			}
		})
	}
}

var conditionsInGo = map[string]Condition{
	"bound": func(self *unstructured.Unstructured) (bool, string) {
		phase, _, _ := unstructured.NestedString(self.Object, "status", "phase")
		self.Object["changed"] = true
		return phase == "Bound", "it is " + phase
	},
	"never":  func(*unstructured.Unstructured) (bool, string) { return false, "" },
	"panics": func(*unstructured.Unstructured) (bool, string) { panic("oh no") },
	"shows": func(self *unstructured.Unstructured) (bool, string) {
		panic(self.Object["data"])
	},
}

func TestConditionsOfSecretsShowNoValues(t *testing.T) {
	for condition, want := range map[string]string{
		`self.data.password == "x"`:             `ready-when: self.data.password == "x" is false`,
		"self.data.none == ''":                  "ready-when: self.data.none == '' has no value yet",
		"self.data.password > 1":                "ready-when: self.data.password > 1 cannot be evaluated",
		"timestamp(self.data.password) > now":   "",
		"timestamp(self.data.password) == self": "ready-when: timestamp(self.data.password) == self cannot be evaluated",
		"go/shows":                              "ready-when: go/shows panicked",
	} {
		secret := object(t, "{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {password: aHVudGVyMg==}}")
		secret.SetAnnotations(map[string]string{reconciler + "/ready-when": condition})
		got := View{Reconciler: reconciler, Conditions: conditionsInGo}.Readiness(t.Context(), secret)
		if got.Message != want {
			t.Errorf("%s: the message is %q, want %q", condition, got.Message, want)
		}
	}
}

func TestConditionsNeedTheBody(t *testing.T) {
	settings := object(t, live)
	settings.SetAnnotations(map[string]string{reconciler + "/ready-when": "self.data.a == 'x'"})
	if got := Metadata(settings, reconciler).Readiness.State; got != ready.Unread {
		t.Errorf("by its metadata the object is %s", got)
	}
	if got := ours.Object(t.Context(), settings).Readiness; got.State != ready.Ready {
		t.Errorf("by its body the object is %+v", got)
	}
	settings.SetDeletionTimestamp(new(metav1.Now()))
	if got := Metadata(settings, reconciler).Readiness.State; got != ready.Terminating {
		t.Errorf("a deleted object is %s", got)
	}
}

// Tenants share the watches, so the conditions of a namespace must not take the time of others.
func TestAllowance(t *testing.T) {
	now := time.Unix(1000, 0)
	took := time.Duration(0)
	v := View{
		Reconciler: reconciler, Allowance: NewAllowance(func() time.Time { return now }),
		Conditions: map[string]Condition{
			"slow": func(*unstructured.Unstructured) (bool, string) { now = now.Add(took); return true, "" },
		},
	}
	state := func(namespace string) ready.State {
		obj := widgetWith(t, "go/slow", "{}")
		obj.SetNamespace(namespace)
		return v.Readiness(t.Context(), obj).State
	}
	took = 600 * time.Millisecond
	for i, want := range []ready.State{ready.Ready, ready.Ready, ready.Unread, ready.Unread} {
		if got := state("a"); got != want {
			t.Errorf("evaluation %d: the object is %s, want %s", i, got, want)
		}
	}
	took = time.Millisecond
	if got := state("b"); got != ready.Ready {
		t.Errorf("the object of another namespace is %s", got)
	}
	now = now.Add(10 * time.Second)
	if got := state("a"); got != ready.Ready {
		t.Errorf("after a while, the object is %s", got)
	}
	v.Allowance = nil
	took = time.Hour
	for range 2 {
		if got := state("a"); got != ready.Ready {
			t.Errorf("outside of a watch, the object is %s", got)
		}
	}
}

func TestAnalyzers(t *testing.T) {
	kind := schema.GroupKind{Group: "example.com", Kind: "Widget"}
	analyzed := func(analyze Analyzer) View {
		return View{Reconciler: reconciler, Analyzers: map[schema.GroupKind]Analyzer{kind: analyze}}
	}
	failed := analyzed(func(live *unstructured.Unstructured) ready.Result {
		live.Object["changed"] = true
		return ready.Result{State: ready.Failed, Message: "no"}
	})
	always := analyzed(func(*unstructured.Unstructured) ready.Result { return ready.Result{State: ready.Ready} })
	panics := analyzed(func(*unstructured.Unstructured) ready.Result { panic("oh no") })
	for _, c := range []struct {
		name string
		view View
		edit func(*unstructured.Unstructured)
		want ready.Result
	}{
		{"decides", failed, nil, ready.Result{State: ready.Failed, Message: "no"}},
		{"replaces the rules of kstatus", always, func(o *unstructured.Unstructured) {
			o.Object["status"] = map[string]any{"observedGeneration": int64(1)}
		}, ready.Result{State: ready.Ready}},
		{
			"is not called for another kind", failed, func(o *unstructured.Unstructured) { o.SetKind("Gadget") },
			ready.Result{State: ready.Ready},
		},
		{
			"is not called for a deleted object", failed,
			func(o *unstructured.Unstructured) { o.SetDeletionTimestamp(new(metav1.Now())) },
			ready.Result{State: ready.Terminating, Message: "it is being deleted"},
		},
		{"panics", panics, nil, ready.Result{
			State:   ready.Unknown,
			Message: "the analyzer of Widget.example.com panicked: oh no",
		}},
		{"is followed by the hints", always, func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{reconciler + "/status-hint": "has-ready-condition"})
		}, ready.Result{State: ready.InProgress, Message: "not Ready yet"}},
		{"is followed by the condition", always, func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{reconciler + "/ready-when": "self.kind == 'x'"})
		}, ready.Result{State: ready.InProgress, Message: `ready-when: self.kind == 'x' is false (self.kind is "Widget")`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			obj := object(t, "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, generation: 2}}")
			if c.edit != nil {
				c.edit(obj)
			}
			if got := c.view.Readiness(t.Context(), obj); got != c.want {
				t.Errorf("the readiness is %+v, want %+v", got, c.want)
			}
			if _, changed := obj.Object["changed"]; changed {
				t.Error("the analyzer changed the object")
			}
		})
	}
}
