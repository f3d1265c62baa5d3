package observe

import (
	"testing"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

func TestDefinitionsAreWatchedWhileATypeIsNotServed(t *testing.T) {
	o := newObserver(t)
	w := addWatch(o, Reader{}, WatchedResource{Type: widgets}, func() {})
	w.users["us"] = true
	for _, step := range []struct {
		reason plan.WaitReason
		want   bool
	}{{"", false}, {plan.WaitNotServed, true}, {plan.WaitUnwatched, false}, {plan.WaitNotServed, true}, {"", false}} {
		w.setReason(step.reason, "")
		if watched := o.definitions.stop != nil; watched != step.want {
			t.Errorf("reason %q: definitions are watched: %t, want %t", step.reason, watched, step.want)
		}
	}
}

func TestDefinitionsAreNotWatchedForTypesWithoutUsers(t *testing.T) {
	s := newWatchFixture(t)
	s.setReason(plan.WaitNotServed, "")
	if s.observer.definitions.stop == nil {
		t.Fatal("definitions are not watched, although a type is not served")
	}
	for _, name := range []string{"us", "them"} {
		s.observer.Release(name)
	}
	if s.observer.definitions.stop != nil {
		t.Error("the watch on definitions did not stop, although no component uses the watch of the type any more")
	}
	// The last list of the watch fails after the last component that uses the watch was released.
	s.reason = ""
	s.setReason(plan.WaitNotServed, "")
	if s.observer.definitions.stop != nil || len(s.observer.definitions.unserved) > 0 {
		t.Error("definitions are watched for a watch that was stopped")
	}
}

func TestDefinitionEventsRetryUnservedTypes(t *testing.T) {
	for name, c := range map[string]struct {
		reason plan.WaitReason
		event  func(definitionStore) error
		want   bool
	}{
		"a new definition retries a type that is not served": {
			plan.WaitNotServed, func(d definitionStore) error { return d.Add(nil) }, true,
		},
		"a changed definition retries a type that is not served": {
			plan.WaitNotServed, func(d definitionStore) error { return d.Update(nil) }, true,
		},
		"the first list of definitions retries a type that is not served": {
			plan.WaitNotServed, func(d definitionStore) error { return d.Replace(nil, "1") }, true,
		},
		"a new definition does not retry a served type": {
			plan.WaitNone, func(d definitionStore) error { return d.Add(nil) }, false,
		},
		"a new definition does not retry a type whose list is refused": {
			plan.WaitUnwatched, func(d definitionStore) error { return d.Add(nil) }, false,
		},
		"a deleted definition does not retry a type that is not served": {
			plan.WaitNotServed, func(d definitionStore) error { return d.Delete(nil) }, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := newObserver(t)
			dependents := newDependentWatch(o, WatchedResource{Type: widgets}, "", func() {})
			instances := newInstanceWatch(o, widgets, func() {})
			for _, w := range []*watchState{&dependents.watchState, &instances.watchState} {
				w.users["us"] = true
				w.setReason(c.reason, "")
			}
			if err := c.event(definitionStore{changed: o.definitions.retryUnserved, deleted: func() {}}); err != nil {
				t.Fatal(err)
			}
			if got := len(dependents.retrySignal) == 1; got != c.want {
				t.Errorf("the watch on dependents was told to retry: %t, want %t", got, c.want)
			}
			if got := len(instances.retrySignal) == 1; got != c.want {
				t.Errorf("the watch on instances was told to retry: %t, want %t", got, c.want)
			}
		})
	}
}
