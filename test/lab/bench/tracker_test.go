package main

import (
	"context"
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// observed returns a component whose status contains the observed generation 2.
func observed(name string, generation int64, conditions ...string) *v1alpha1.Component {
	c := &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, Generation: generation}}
	for _, of := range conditions {
		c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{
			Type: of, Status: metav1.ConditionTrue, ObservedGeneration: 2, Reason: "Because", Message: "the reason is given",
		})
	}
	return c
}

func TestAwaitReadyEndsWhenItIsDecided(t *testing.T) {
	ready, notReady := observed("one", 2, metav1alpha1.ConditionReady), observed("two", 2)
	stale := observed("two", 3, metav1alpha1.ConditionReady)
	stalled := observed("two", 2, metav1alpha1.ConditionStalled)
	died, ended := errors.New("died"), errors.New("ended")
	for _, c := range []struct {
		name       string
		components []*v1alpha1.Component
		dies       bool
		want       string
	}{
		{
			"all components are ready",
			[]*v1alpha1.Component{ready, observed("two", 2, metav1alpha1.ConditionReady)},
			false, "",
		},
		{
			"a component is not ready",
			[]*v1alpha1.Component{ready, notReady},
			false, "ended: 1 of 2 components are Ready; two is not: ",
		},
		{"a component does not exist", []*v1alpha1.Component{ready}, false, "ended: 1 of 1 components are Ready; "},
		{
			"a component was ready for an earlier generation",
			[]*v1alpha1.Component{ready, stale},
			false, "ended: 1 of 2 components are Ready; two is not: Because: the reason is given",
		},
		{"a component is stalled", []*v1alpha1.Component{ready, stalled}, false, "1 of 2 components are Ready; two is not: "},
		{"the operator has ended", []*v1alpha1.Component{ready, notReady}, true, "died"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			s := &stage{components: newTracker(), operator: &operator{died: make(chan error, 1)}}
			for _, component := range c.components {
				s.components.see(component)
			}
			if c.dies {
				s.operator.died <- died
			} else {
				cancel(ended)
			}
			defer cancel(nil)
			if got := message(s.awaitReady(ctx, "a", 2, 2)); got != c.want {
				t.Errorf("want the error %q of awaitReady, got %q", c.want, got)
			}
		})
	}
}

func TestTrackerForgetsWhatIsDeleted(t *testing.T) {
	s := &stage{components: newTracker(), operator: &operator{died: make(chan error, 1)}}
	c := observed("one", 2, metav1alpha1.ConditionReady)
	s.components.see(c)
	_, changed := s.components.in("a")
	s.components.lose(c)
	<-changed
	if err := s.awaitDeletion(t.Context(), "a"); err != nil {
		t.Error(err)
	}
}
