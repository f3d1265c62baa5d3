package reconcile

import (
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/turn"
	"github.com/fairlead-io/fairlead/pkg/component/internal/dependencies"
)

func TestNewInputsSettle(t *testing.T) {
	w := newWaitingWorld(t)
	w.Dependencies.Graph.Put(db, dependencies.Node{UID: "db", Version: "1", Health: isReady})
	if after := w.reconcile(); after != settleTime || w.made("write the status") {
		t.Errorf("the next pass is due after %s, or the status was written", after)
	}
	w.clock.SetTime(start.Add(settleTime))
	w.reconcile()
	if !w.made("apply") {
		t.Error("the inputs are not applied after they have settled")
	}
}

// A turn to render is kept for a short time only, so a component that gets its turn must not settle again.
func TestInputsSettleOnce(t *testing.T) {
	w := newWaitingWorld(t)
	w.Dependencies.Graph.Put(db, dependencies.Node{UID: "db", Version: "1", Health: isReady})
	w.reconcile()
	w.clock.SetTime(start.Add(settleTime))
	w.fails["render"] = turn.ErrLater
	w.reconcile()
	if !w.made("render") {
		t.Fatal("the inputs are not rendered after they have settled")
	}
	delete(w.fails, "render")
	w.reconcile()
	if !w.made("apply") {
		t.Error("inputs that have settled settle again, because the pass waited for its turn")
	}
}

func TestSettleTime(t *testing.T) {
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	var s settling
	for _, c := range []struct {
		name, digest string
		now, want    int
	}{
		{"new inputs", "a", 0, 3},
		{"the same inputs again", "a", 2, 3},
		{"other inputs", "b", 2, 5},
		{"the first ones again", "a", 4, 7},
		{"after many changes", "c", 14, 15},
		{"later", "d", 20, 15},
	} {
		if due := s.due(c.digest, at(c.now)); !due.Equal(at(c.want)) {
			t.Errorf("%s may be applied %s after the start, not %ds", c.name, due.Sub(start), c.want)
		}
	}
	s.settled()
	if due := s.due("d", at(21)); due.After(at(21)) {
		t.Errorf("inputs that have settled may be applied at %s", due)
	}
	if due := s.due("e", at(30)); !due.Equal(at(33)) {
		t.Errorf("inputs after those that have settled may be applied %s after the start, not 33s", due.Sub(start))
	}
	s.held()
	if due := s.due("e", at(31)); !due.Equal(at(33)) {
		t.Errorf("inputs that a dependency does not permit may be applied %s after the start, not 33s", due.Sub(start))
	}
	if due := s.due("f", at(100)); !due.Equal(at(103)) {
		t.Errorf("inputs after a long wait may be applied %s after the start, not 103s", due.Sub(start))
	}
}
