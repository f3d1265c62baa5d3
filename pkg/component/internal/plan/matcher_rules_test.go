package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// matched sets that an author compares the object with its manifest, with the given result.
func matched(v *MatchResult) func(*scene) {
	return func(s *scene) { s.matched, s.live.MatchResult = true, v }
}

func TestPlanAtTheTimeOfAVerdict(t *testing.T) {
	until := sceneTime.Add(time.Minute)
	s := newScene(edits(matched(&MatchResult{Differs: "x", LeaveUntil: until})))
	if p := ForApply(s.facts()); !p.NextDue.Equal(until) || len(p.Actions) > 0 {
		t.Errorf("the next plan is due at %s, with the actions %v", p.NextDue, p.Actions)
	}
}

// The record keeps what was applied, so that a matcher that does not accept the object any more leads to a write, also
// after a restart.
func TestAnAcceptedObjectIsComparedAgain(t *testing.T) {
	s := newScene(edits(newManifest, matched(&MatchResult{Accepts: true})))
	f := s.facts()
	entry := f.Inventory[s.object.Key]
	entry.Revision, f.Revision = 3, 4
	f.Inventory[s.object.Key] = entry
	p := ForApply(f)
	entry = p.Inventory[s.object.Key]
	if len(p.Actions) > 0 || !p.Applied || p.Ready != 1 || entry.Digest != "d1" || entry.Revision != 3 {
		t.Fatalf("the plan has the actions %v, %d ready, and the entry %+v", p.Actions, p.Ready, entry)
	}
	f.Inventory = p.Inventory
	f.Live[s.object.Key].MatchResult = &MatchResult{}
	if p := ForApply(f); len(p.Actions) != 1 || p.Actions[0].Reason != ReasonChanged {
		t.Errorf("the actions are %v", p.Actions)
	}
}

// The message about an external names the difference, and stays the same while the conflict lasts.
func TestConflictOfAnExternal(t *testing.T) {
	s := newScene(edits(func(s *scene) {
		s.object.Key = manifests.Key{Group: manifests.ExternalGroup, Kind: "Record", Name: "www"}
		s.entry.Group, s.entry.Kind, s.entry.Namespace, s.entry.Name = manifests.ExternalGroup, "Record", "", "www"
		s.entry.External = true
	}))
	f := s.facts()
	var messages []string
	for i := range 100 {
		f.Live[s.object.Key].MatchResult = &MatchResult{Differs: fmt.Sprintf("spec.ttl: want 77, found %d", i)}
		p := ForApply(f)
		for _, a := range p.Actions {
			if r, ok := a.Remembered(Result{Verb: a.Verb}); ok {
				p.Repairs[a.Key] = r
			}
		}
		for _, conflict := range p.RepairConflicts {
			messages = append(messages, conflict.Message)
		}
		f.Repairs, f.Now = p.Repairs, f.Now.Add(time.Second)
	}
	messages = slices.Compact(messages)
	if len(messages) != 1 || !strings.HasPrefix(messages[0],
		"it differs repeatedly from its manifest (spec.ttl: want 77, found ") {
		t.Errorf("the messages are %q", messages)
	}
}

// A matcher that always finds a difference must not write the object again and again without a delay.
func TestMatcherThatAlwaysDiffers(t *testing.T) {
	s := newScene(edits(matched(&MatchResult{Differs: "x"})))
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
	if len(p.RepairConflicts) != 1 ||
		p.RepairConflicts[0].Message[:len("its matcher says repeatedly")] != "its matcher says repeatedly" {
		t.Errorf("the repair conflicts are %+v", p.RepairConflicts)
	}
}
