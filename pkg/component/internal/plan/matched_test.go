package plan

import (
	"testing"
	"time"
)

// matched sets that an author compares the object with its manifest, with the given result.
func matched(v *Verdict) func(*scene) {
	return func(s *scene) { s.matched, s.live.Verdict = true, v }
}

func TestPlanAtTheTimeOfAVerdict(t *testing.T) {
	until := sceneTime.Add(time.Minute)
	s := newScene(edits(matched(&Verdict{Differs: "x", LeaveUntil: until})))
	if p := ForApply(s.facts()); !p.NextDue.Equal(until) || len(p.Actions) > 0 {
		t.Errorf("the next plan is due at %s, with the actions %v", p.NextDue, p.Actions)
	}
}

// A matcher that always finds a difference must not write the object again and again without a delay.
func TestMatcherThatAlwaysDiffers(t *testing.T) {
	s := newScene(edits(matched(&Verdict{Differs: "x"})))
	f := s.facts()
	writes := 0
	for range 100 {
		p := ForApply(f)
		for _, a := range p.Actions {
			writes++
			if r, ok := a.Remembered(Result{Verb: a.Verb}); ok {
				p.Repairs[a.Key] = r
			}
		}
		f.Repairs, f.Now = p.Repairs, f.Now.Add(100*time.Millisecond)
	}
	if writes != immediateRepairs {
		t.Errorf("the object was written %d times in 10 seconds", writes)
	}
	p := ForApply(f)
	if len(p.RepairConflicts) != 1 || p.RepairConflicts[0].Message[:len("its matcher says repeatedly")] != "its matcher says repeatedly" {
		t.Errorf("the repair conflicts are %+v", p.RepairConflicts)
	}
}
