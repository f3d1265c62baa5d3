package dependencies

import "testing"

// ready is the health of a component that is Ready.
var ready = Health{Generation: 1, ObservedGeneration: 1, IsReady: true, RevisionReady: true, InputsApplied: true}

func TestReady(t *testing.T) {
	with := func(change func(*Health)) Health {
		h := ready
		change(&h)
		return h
	}
	for _, c := range []struct {
		name   string
		health Health
		want   bool
	}{
		{"Ready at its generation", ready, true},
		{"created, or created again, without a status", Health{Generation: 1}, false},
		{"Ready at a previous generation", with(func(h *Health) { h.Generation = 2 }), false},
		{"not Ready, after its revision was ready once", with(func(h *Health) { h.IsReady = false }), false},
		{"Ready by a status that another client wrote or restored", with(func(h *Health) { h.Doubted = true }), false},
		{
			"suspended with what it has applied, at a later generation",
			with(func(h *Health) { h.Suspended, h.IsReady, h.Generation = true, false, 2 }), true,
		},
		{
			"suspended while it applied inputs",
			with(func(h *Health) { h.Suspended, h.IsReady, h.InputsApplied = true, false, false }), false,
		},
		{
			"suspended before its revision was ready",
			with(func(h *Health) { h.Suspended, h.IsReady, h.RevisionReady = true, false, false }), false,
		},
		{
			"suspended with a status that must not be believed",
			with(func(h *Health) { h.Suspended, h.IsReady, h.Doubted = true, false, true }), false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.health.ready(); got != c.want {
				t.Errorf("ready returned %t", got)
			}
		})
	}
}

func TestState(t *testing.T) {
	dependsOn, ignored := Edge{Kind: DependsOn, Blocks: true}, Edge{Kind: DependsOn}
	exports, ordered := Edge{Kind: Exports}, Edge{Kind: Exports, Blocks: true}
	there := situation{consents: true, exists: true, health: ready}
	with := func(e Edge, changes ...func(*situation)) situation {
		s := there
		s.edge = e
		for _, change := range changes {
			change(&s)
		}
		return s
	}
	absent := func(s *situation) { s.exists, s.health = false, Health{} }
	deleted := func(s *situation) { s.isDeleting = true }
	cycle := func(s *situation) { s.isInCycle = true }
	unready := func(s *situation) { s.health.IsReady = false }
	refused := func(s *situation) { s.consents = false }
	for _, c := range []struct {
		name      string
		situation situation
		want      Cause
	}{
		{"ready", with(dependsOn), Ready},
		{"not ready", with(dependsOn, unready), NotReady},
		{"absent", with(dependsOn, absent), Absent},
		{"being deleted while it is still Ready", with(dependsOn, deleted), BeingDeleted},
		{"being deleted, with an edge that does not block", with(ignored, deleted), BeingDeleted},
		{"in a cycle, not ready", with(dependsOn, cycle, unready), InCycle},
		{"without consent, ready", with(dependsOn, refused), NotAllowed},
		{"without consent, and all else is against it", with(dependsOn, refused, cycle, deleted, unready), NotAllowed},
		{"an export of a component that is not ready", with(exports, unready), Ready},
		{"an export of an absent component, which its inputs wait for", with(exports, absent), Ready},
		{"an export of a component that is being deleted", with(exports, deleted), Ready},
		{"an export whose edge blocks the deletion", with(ordered, deleted), BeingDeleted},
		{"an export in a cycle", with(exports, cycle), InCycle},
		{"an export without consent", with(exports, refused), NotAllowed},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.situation.state()
			if got.Cause != c.want || got.Permits() != (c.want == Ready) || got.Edge != c.situation.edge {
				t.Errorf("state returned %+v, not %s", got, c.want)
			}
			if c.want == NotAllowed && got != (State{Edge: c.situation.edge, Cause: NotAllowed}) {
				t.Errorf("%+v tells about a component that allows no dependency", got)
			}
		})
	}
	t.Run("a suspended component counts with what it has applied", func(t *testing.T) {
		s := with(dependsOn, func(s *situation) {
			s.health.Suspended, s.health.IsReady, s.health.Applied = true, false, "sha256:1"
		})
		if got := s.state(); !got.Permits() || !got.Suspended || got.Applied != "sha256:1" {
			t.Errorf("state returned %+v", got)
		}
	})
}
