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
		{"without hints, what has no status is ready", "", ready.Hints{}, ready.Result{State: ready.Ready}},
		{
			"waits for the observed generation to be there", "status: {}", observed,
			ready.Result{State: ready.InProgress, Message: "its controller has not processed it yet: it has no status.observedGeneration"},
		},
		{
			"waits for the observed generation to be the current one", "status: {observedGeneration: 1}", observed,
			ready.Result{State: ready.InProgress, Message: "Widget generation is 2, but latest observed generation is 1"},
		},
		{"is ready at the current generation", "status: {observedGeneration: 2}", observed, ready.Result{State: ready.Ready}},
		{"waits for the condition Ready to be there", "status: {observedGeneration: 2}", condition, ready.Result{State: ready.InProgress, Message: "not Ready yet"}},
		{
			"waits for the condition Ready to be true", "status: {conditions: [{type: Ready, status: 'False', message: no room}]}", condition,
			ready.Result{State: ready.InProgress, Message: "no room"},
		},
		{"is ready by its condition", "status: {conditions: [{type: Ready, status: 'True'}]}", condition, ready.Result{State: ready.Ready}},
		{
			"waits for each of several conditions", "status: {conditions: [{type: A, status: 'True'}, {type: B, status: 'False', message: later}]}", several,
			ready.Result{State: ready.InProgress, Message: "not B yet: later"},
		},
		{"waits for those that are not there", "status: {conditions: [{type: A, status: 'True'}]}", several, ready.Result{State: ready.InProgress, Message: "not B yet"}},
		{
			"takes none of an older generation", "status: {conditions: [{type: A, status: 'True', observedGeneration: 1}, {type: B, status: 'True'}]}", several,
			ready.Result{State: ready.InProgress, Message: "its condition A was set for generation 1, but the object is at generation 2"},
		},
		{
			"is ready by all of them", "status: {conditions: [{type: A, status: 'True', observedGeneration: 2}, {type: B, status: 'True'}]}", several,
			ready.Result{State: ready.Ready},
		},
		{
			"does not understand conditions that are none", "status: {conditions: none}", several,
			ready.Result{State: ready.Unknown, Message: "its status cannot be read"},
		},
		{
			"a failure needs no hint", "status: {conditions: [{type: Stalled, status: 'True', message: stuck}]}", condition,
			ready.Result{State: ready.Failed, Message: "stuck"},
		},
		{
			"a Ready condition of an older generation says nothing", "status: {conditions: [{type: Ready, status: 'True', observedGeneration: 1}]}",
			ready.Hints{},
			ready.Result{State: ready.InProgress, Message: "its condition Ready was set for generation 1, but the object is at generation 2"},
		},
		{
			"nor does a failure of an older generation", "status: {conditions: [{type: Stalled, status: 'True', observedGeneration: 1}]}",
			ready.Hints{},
			ready.Result{State: ready.InProgress, Message: "its condition Stalled was set for generation 1, but the object is at generation 2"},
		},
		{
			"that it is not stalled need not be said again", "status: {conditions: [{type: Stalled, status: 'False', observedGeneration: 1}]}",
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
			t.Errorf("got %v", got)
		}
	})
}

func TestAComponentOfTheReadyMadeOperatorIsNotReadyBeforeItWasLookedAt(t *testing.T) {
	for _, c := range []struct {
		name, status string
		want         ready.State
	}{
		{"new", "", ready.InProgress},
		{"ready", "status: {observedGeneration: 2, conditions: [{type: Ready, status: 'True', observedGeneration: 2}]}", ready.Ready},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := widget(t, c.status)
			w.SetAPIVersion("fairlead.io/v1alpha1")
			w.SetKind("Component")
			if got := ready.Of(w, ready.Hints{}); got.State != c.want {
				t.Errorf("got %v", got)
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
