package observe

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// newObserver returns an Observer whose types are fed by the test, instead of by watches.
func newObserver(t *testing.T) *Observer {
	t.Helper()
	o := New(t.Context(), Options{Reconciler: reconciler})
	o.followDefinitions = func(context.Context) {}
	return o
}

func TestDefinitionsAreWatchedWhileATypeIsNotServed(t *testing.T) {
	o := newObserver(t)
	k := &kind{observer: o, place: Place{Type: schema.GroupKind{Group: "example.com", Kind: "Widget"}}, kick: make(chan struct{}, 1), users: map[string]bool{"us": true}}
	o.kinds.enter("", k.place, k)
	for _, step := range []struct {
		reason plan.WaitReason
		want   bool
	}{{"", false}, {plan.WaitNotServed, true}, {plan.WaitUnwatched, false}, {plan.WaitNotServed, true}, {"", false}} {
		k.tell(step.reason, "")
		if watched := o.stopDefinitions != nil; watched != step.want {
			t.Errorf("reason %q: watched %t, want %t", step.reason, watched, step.want)
		}
	}
}

func TestDefinitionsAreNotWatchedForTypesThatNobodyUses(t *testing.T) {
	s := newStore(t)
	s.tell(plan.WaitNotServed, "")
	if s.observer.stopDefinitions == nil {
		t.Fatal("they are not watched")
	}
	for _, name := range []string{"us", "them"} {
		s.observer.Release(name)
	}
	if s.observer.stopDefinitions != nil {
		t.Error("they are watched on")
	}
	// Its last list was refused while its last user left.
	s.reason = ""
	s.tell(plan.WaitNotServed, "")
	if s.observer.stopDefinitions != nil || len(s.observer.unserved) > 0 {
		t.Error("they are watched again, for a watch that ended")
	}
}

func TestDefinitionsRetryWhatIsNotServed(t *testing.T) {
	for name, c := range map[string]struct {
		reason plan.WaitReason
		event  func(definitions) error
		want   bool
	}{
		"a type that is not served, when a definition comes":    {plan.WaitNotServed, func(d definitions) error { return d.Add(nil) }, true},
		"a type that is not served, when a definition changes":  {plan.WaitNotServed, func(d definitions) error { return d.Update(nil) }, true},
		"a type that is not served, when the watch begins":      {plan.WaitNotServed, func(d definitions) error { return d.Replace(nil, "1") }, true},
		"not a type that is served":                             {"", func(d definitions) error { return d.Add(nil) }, false},
		"not a type that may not be listed":                     {plan.WaitUnwatched, func(d definitions) error { return d.Add(nil) }, false},
		"not a type that is not served, when a definition goes": {plan.WaitNotServed, func(d definitions) error { return d.Delete(nil) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			o := newObserver(t)
			gk := schema.GroupKind{Group: "example.com", Kind: "Widget"}
			users := map[string]bool{"us": true}
			k := &kind{observer: o, place: Place{Type: gk}, kick: make(chan struct{}, 1), users: users}
			i := &instances{observer: o, gk: gk, kick: make(chan struct{}, 1), users: users}
			k.tell(c.reason, "")
			i.tell(c.reason, "")
			if err := c.event(definitions{come: o.retry, gone: func() {}}); err != nil {
				t.Fatal(err)
			}
			if len(k.kick) == 1 != c.want || len(i.kick) == 1 != c.want {
				t.Errorf("tried again: %t and %t, want %t", len(k.kick) == 1, len(i.kick) == 1, c.want)
			}
		})
	}
}
