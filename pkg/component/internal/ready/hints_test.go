package ready_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
)

func TestHints(t *testing.T) {
	observed, condition := ready.Hints{HasObservedGeneration: true}, ready.Hints{HasReadyCondition: true}
	several := ready.Hints{Conditions: []string{"A", "B"}}
	for _, c := range []struct {
		name   string
		status string
		hints  ready.Hints
		want   ready.Result
	}{
		{"without hints, an object without a status is ready", "", ready.Hints{}, ready.Result{State: ready.Ready}},
		{
			"waits until the observed generation exists", "status: {}", observed,
			ready.Result{
				State:   ready.InProgress,
				Message: "its controller has not processed it yet: it has no status.observedGeneration",
			},
		},
		{
			"waits until the observed generation equals the generation", "status: {observedGeneration: 1}", observed,
			ready.Result{State: ready.InProgress, Message: "Widget generation is 2, but latest observed generation is 1"},
		},
		{"is ready at the current generation", "status: {observedGeneration: 2}", observed, ready.Result{State: ready.Ready}},
		{
			"waits until the condition Ready exists",
			"status: {observedGeneration: 2}", condition,
			ready.Result{State: ready.InProgress, Message: "not Ready yet"},
		},
		{
			"waits until the condition Ready is true",
			"status: {conditions: [{type: Ready, status: 'False', message: no room}]}", condition,
			ready.Result{State: ready.InProgress, Message: "no room"},
		},
		{
			"is ready if the condition Ready is true",
			"status: {conditions: [{type: Ready, status: 'True'}]}", condition,
			ready.Result{State: ready.Ready},
		},
		{
			"waits for each of several conditions",
			"status: {conditions: [{type: A, status: 'True'}, {type: B, status: 'False', message: later}]}", several,
			ready.Result{State: ready.InProgress, Message: "not B yet: later"},
		},
		{
			"waits for conditions that do not exist",
			"status: {conditions: [{type: A, status: 'True'}]}", several,
			ready.Result{State: ready.InProgress, Message: "not B yet"},
		},
		{
			"ignores conditions of an older generation",
			"status: {conditions: [{type: A, status: 'True', observedGeneration: 1}, {type: B, status: 'True'}]}", several,
			ready.Result{
				State:   ready.InProgress,
				Message: "its condition A was set for generation 1, but the object is at generation 2",
			},
		},
		{
			"is ready if all hints are satisfied",
			"status: {conditions: [{type: A, status: 'True', observedGeneration: 2}, {type: B, status: 'True'}]}", several,
			ready.Result{State: ready.Ready},
		},
		{
			"waits if status.conditions is not a list of conditions", "status: {conditions: none}", several,
			ready.Result{State: ready.Unknown, Message: "its status cannot be read"},
		},
		{
			"a failed object is failed without a hint",
			"status: {conditions: [{type: Stalled, status: 'True', message: stuck}]}", condition,
			ready.Result{State: ready.Failed, Message: "stuck"},
		},
		{
			"a condition Ready of an older generation is ignored",
			"status: {conditions: [{type: Ready, status: 'True', observedGeneration: 1}]}",
			ready.Hints{},
			ready.Result{
				State:   ready.InProgress,
				Message: "its condition Ready was set for generation 1, but the object is at generation 2",
			},
		},
		{
			"a condition Stalled of an older generation is ignored",
			"status: {conditions: [{type: Stalled, status: 'True', observedGeneration: 1}]}",
			ready.Hints{},
			ready.Result{
				State:   ready.InProgress,
				Message: "its condition Stalled was set for generation 1, but the object is at generation 2",
			},
		},
		{
			"a false condition Stalled of an older generation does not delay readiness",
			"status: {conditions: [{type: Stalled, status: 'False', observedGeneration: 1}]}",
			ready.Hints{},
			ready.Result{State: ready.Ready},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ready.Of(widget(t, c.status), c.hints)
			if c.want.State == ready.Unknown {
				got.Message = c.want.Message
			}
			if got != c.want {
				t.Errorf("got  %v\nwant %v", got, c.want)
			}
		})
	}
	t.Run("an object that is being deleted is Terminating for all conditions", func(t *testing.T) {
		w := widget(t, "status: {conditions: [{type: Ready, status: 'True', observedGeneration: 1}]}")
		unstructured.RemoveNestedField(w.Object, "metadata", "generation")
		if err := unstructured.SetNestedField(w.Object, "2026-01-01T00:00:00Z", "metadata", "deletionTimestamp"); err != nil {
			t.Fatal(err)
		}
		if got := ready.Of(w, condition); got.State != ready.Terminating {
			t.Errorf("an object that is being deleted has the readiness %v, want Terminating", got)
		}
	})
}

func TestAComponentOfTheReadyMadeOperatorIsNotReadyBeforeItWasLookedAt(t *testing.T) {
	for _, c := range []struct {
		name, status string
		want         ready.State
	}{
		{"new", "", ready.InProgress},
		{
			"ready", "status: {observedGeneration: 2, conditions: [{type: Ready, status: 'True', observedGeneration: 2}]}",
			ready.Ready,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := widget(t, c.status)
			w.SetAPIVersion("fairlead.io/v1alpha1")
			w.SetKind("Component")
			if got := ready.Of(w, ready.Hints{}); got.State != c.want {
				t.Errorf("the widget has the wrong readiness %v", got)
			}
		})
	}
}

// widget is a custom resource at its second generation.
func widget(t *testing.T, status string) *unstructured.Unstructured {
	t.Helper()
	text := "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, generation: 2}, " + status + "}"
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	w := &unstructured.Unstructured{}
	if err := w.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return w
}
