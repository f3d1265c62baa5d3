package component

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"

	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
)

func TestAfterRefusal(t *testing.T) {
	r, fake := newTimed(Options{RetryInterval: 10 * time.Minute})
	component := &part{}
	component.Namespace, component.Name, component.UID = shop.Namespace, shop.Name, "u1"
	forbidden := Outcome{Waiting: []Waiting{fails("A a", "Forbidden", "x", true)}}
	pass := func(o Outcome, p *condition.Error) time.Duration {
		return r.comeBack(shop, component, o, p, judge(!component.DeletionTimestamp.IsZero(), o, p))
	}
	soon := func(t *testing.T, after time.Duration) { between(t, after, 400*time.Millisecond, 500*time.Millisecond) }
	waited := func(d time.Duration) { fake.SetTime(fake.Now().Add(d)) }

	passes, began := 0, fake.Now()
	for after := pass(forbidden, nil); after < 10*time.Minute; after = pass(forbidden, nil) {
		waited(after)
		passes++
	}
	if passes > 16 || fake.Since(began) > 20*time.Minute {
		t.Errorf("%d passes in %s before it comes at the retry interval alone", passes, fake.Since(began))
	}
	t.Run("events do not make it begin anew", func(t *testing.T) {
		waited(time.Second)
		between(t, pass(forbidden, nil), 10*time.Minute, 10*time.Minute)
	})
	for what, edit := range map[string]func(){
		"another spec":           func() { component.Generation++ },
		"a request for a pass":   func() { component.Annotations = map[string]string{"parts.example.com/reconcile-requested-at": "now"} },
		"its deletion":           func() { component.DeletionTimestamp = new(metav1.Now()) },
		"a component of its own": func() { component.UID += "'" },
	} {
		t.Run(what+" does", func(t *testing.T) {
			edit()
			soon(t, pass(forbidden, nil))
			waited(time.Hour)
			between(t, pass(forbidden, nil), 10*time.Minute, 10*time.Minute)
		})
	}
	t.Run("so does another refusal after it was allowed", func(t *testing.T) {
		pass(Outcome{Ready: 1, Desired: 1}, nil)
		soon(t, pass(forbidden, nil))
	})
	t.Run("so does what was not refused before", func(t *testing.T) {
		other := Outcome{Waiting: []Waiting{fails("A a", "Forbidden", "y", true)}}
		waited(time.Hour)
		soon(t, pass(other, nil))
		waited(time.Minute)
		t.Run("but not what was, so that two that take turns are tried ever more seldom", func(t *testing.T) {
			between(t, pass(forbidden, nil), 48*time.Second, time.Minute)
			between(t, pass(other, nil), 48*time.Second, time.Minute)
		})
	})
	t.Run("nor does what is refused in other words each time, in the end", func(t *testing.T) {
		passes, began := 0, fake.Now()
		for after := time.Duration(0); after < 10*time.Minute && passes <= 30; passes++ {
			after = pass(Outcome{Waiting: []Waiting{fails("A a", "Forbidden", fmt.Sprint(passes), true)}}, nil)
			waited(after)
		}
		if passes > 30 {
			t.Errorf("%d passes in %s before it comes at the retry interval alone", passes, fake.Since(began))
		}
		component.Generation++
		pass(forbidden, nil)
	})
	t.Run("what was refused before anything was applied counts, too", func(t *testing.T) {
		p := &condition.Error{Reason: metav1alpha1.ReasonForbidden, Message: "x", Terminal: true}
		soon(t, pass(Outcome{}, p))
		waited(time.Minute)
		between(t, pass(Outcome{}, p), 48*time.Second, time.Minute)
	})
}
