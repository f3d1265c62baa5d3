package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// arena simulates a dependent, and another client that reverts its repairs. arena has its own simulated time.
type arena struct {
	scene
	now   time.Duration
	facts map[manifests.Key]Repairs
	// undo returns what is lost after the nth repair, and the time between the repair and the loss. If ends is set,
	// nothing is lost any more.
	undo func(n int) (after time.Duration, loss func(*scene), ends bool)
	// repairs and reads are the times of the repairs and of the reads. repairConflicts are texts with the start and the
	// end of each conflict; the last conflict may have no end.
	repairs, reads  []time.Duration
	repairConflicts []string
	inConflict      bool
	messages        []string
}

// regularly returns a function undo with the same loss after the given number of repairs, always after the same time.
func regularly(times int, after time.Duration, loss func(*scene)) func(int) (time.Duration, func(*scene), bool) {
	return func(n int) (time.Duration, func(*scene), bool) { return after, loss, n > times }
}

// fight advances the time from one event to the next, until there is no further event.
func (a *arena) fight() {
	loss, at, ends := a.first()
	for range 1000 {
		if !ends && at <= a.now {
			loss(&a.scene)
			ends = true
		}
		repaired, due := a.pass()
		if repaired {
			after, next, over := a.undo(len(a.repairs))
			loss, at, ends = next, a.now+after, over
		}
		switch {
		case !ends && (due == 0 || at < due):
			a.now = at
		case due > 0:
			a.now = due
		default:
			return
		}
	}
}

func (a *arena) first() (loss func(*scene), at time.Duration, ends bool) {
	_, loss, _ = a.undo(0)
	return loss, 0, false
}

// pass makes plans and performs their actions until a plan contains no actions.
func (a *arena) pass() (repaired bool, due time.Duration) {
	results := map[manifests.Key]Result{}
	for {
		f := a.scene.facts()
		f.Now, f.Repairs, f.Results = sceneTime.Add(a.now), a.facts, results
		p := ForApply(f)
		a.facts = p.Repairs
		if len(p.Actions) == 0 {
			a.note(p)
			return repaired, a.dueOf(p)
		}
		action := p.Actions[0]
		r := a.perform(action)
		r.Attempts = results[action.Key].Attempts + 1
		results[action.Key] = r
		repaired = repaired || action.Verb != VerbRead
		if kept, ok := action.Remembered(r); ok {
			a.facts[action.Key] = kept
		}
	}
}

func (a *arena) perform(action Action) Result {
	if action.Verb == VerbRead {
		a.reads = append(a.reads, a.now.Round(time.Second))
		o := a.live
		o.Coverage, o.Values = CoveragePartial, "v2"
		if action.FindConflictingManagers {
			o.Response = &Response{ConflictingManagers: []ConflictingManager{{
				Field: "spec.replicas", Manager: "kubectl",
				Operation: "Update",
			}}}
		}
		return Result{Verb: VerbRead, Observed: &o}
	}
	a.repairs = append(a.repairs, a.now.Round(time.Second))
	a.live = Observed{
		Presence: Present, UID: "u1", ResourceVersion: "8", Owner: us, OwnerName: "us", Digest: "d1", Applied: "f1",
		Coverage:  CoverageFull,
		Readiness: ready.Result{State: ready.Ready},
	}
	o := a.live
	return Result{Verb: action.Verb, Observed: &o}
}

func (a *arena) dueOf(p Plan) time.Duration {
	if p.NextDue.IsZero() {
		return 0
	}
	return p.NextDue.Sub(sceneTime)
}

func (a *arena) note(p Plan) {
	for _, c := range p.RepairConflicts {
		if !slices.Contains(a.messages, c.Message) {
			a.messages = append(a.messages, c.Message)
		}
	}
	if on := len(p.RepairConflicts) > 0; on != a.inConflict {
		a.inConflict = on
		text := fmt.Sprint("until ", a.now.Round(time.Second))
		if on {
			text = fmt.Sprint("from ", a.now.Round(time.Second))
		}
		a.repairConflicts = append(a.repairConflicts, text)
	}
}

// battles are the sequences of reverted repairs. testdata/repair-conflicts.golden has the times of the repairs and of
// the reads of managers, in seconds, and the duration of the conflict.
var battles = []struct {
	name string
	undo func(n int) (time.Duration, func(*scene), bool)
}{
	{"a person edits an object once", regularly(0, 0, taken)},
	{"a controller sets its defaults three times while it starts", regularly(3, moment, taken)},
	{"a person deletes an object twice", regularly(1, time.Second, absent)},
	{"a person edits an object five times in a row", regularly(4, moment, taken)},
	{"another manager takes over a field somewhat less often than every 30 seconds", regularly(15, 31*time.Second, taken)},
	{
		"a person edits twenty fields one after the other",
		func(n int) (time.Duration, func(*scene), bool) { return moment, other(n), n >= 20 },
	},
	{"another manager takes over a field six times", regularly(6, moment, taken)},
	{"another manager takes over a field at once after each repair", regularly(15, moment, taken)},
	{"a HorizontalPodAutoscaler sets the replicas every 15 seconds", regularly(15, 15*time.Second, taken)},
	{"another client deletes the object again after each repair", regularly(15, moment, absent)},
	{"another client removes the owner label again after each repair", regularly(9, moment, unowned)},
	{
		"another manager takes over a different field each time",
		func(n int) (time.Duration, func(*scene), bool) { return moment, other(n), n > 45 },
	},
	{"another manager takes over a field repeatedly, while a person edits other fields", func(n int) (time.Duration,
		func(*scene), bool,
	) {
		if n%2 == 1 {
			return moment, other(n), false
		}
		return moment, taken, n > 11
	}},
}

const moment = 100 * time.Millisecond

func taken(s *scene) { s.live.Applied = "f2" }

// other returns the loss of the nth field.
func other(n int) func(*scene) {
	return func(s *scene) { s.live.Applied = fmt.Sprint("without field ", n) }
}

func TestRepairConflicts(t *testing.T) {
	var b strings.Builder
	for _, c := range battles {
		a := &arena{scene: newScene(nil), undo: c.undo}
		a.fight()
		fmt.Fprintf(&b, "%s\n  repaired at %s\n", c.name, seconds(a.repairs))
		if len(a.reads) > 0 {
			fmt.Fprintf(&b, "  read at %s\n", seconds(a.reads))
		}
		if len(a.repairConflicts) > 0 {
			fmt.Fprintf(&b, "  in conflict %s\n", strings.Join(a.repairConflicts, " "))
		}
		for _, m := range a.messages {
			fmt.Fprintf(&b, "  %s\n", m)
		}
		if a.now += time.Hour; len(a.facts) > 0 {
			a.pass()
		}
		if len(a.facts) > 0 {
			t.Errorf("%s: an hour after the last repair, the plan still remembers the repairs %v", c.name, a.facts)
		}
	}
	compareGolden(t, "repair-conflicts", b.String())
}

func seconds(all []time.Duration) string {
	parts := make([]string, len(all))
	for i, d := range all {
		parts[i] = fmt.Sprint(int(d.Seconds()))
	}
	return strings.Join(parts, " ")
}

func TestTheRemediesOfRepairConflicts(t *testing.T) {
	for _, c := range []struct {
		name      string
		conflicts []ConflictingManager
		want      string
	}{
		{
			"a field of another controller",
			[]ConflictingManager{{Field: "data.a", Manager: "tuner", Operation: "Update"}},
			`data.a is changed repeatedly by "tuner" (Update); name data.a in the annotation ignore to let "tuner" own it, or stop "tuner" from writing it`,
		},
		{
			"two fields of another controller",
			[]ConflictingManager{
				{Field: "data.a", Manager: "tuner", Operation: "Apply"}, {Field: "data.b", Manager: "tuner", Operation: "Apply"},
			},
			`data.a, data.b are changed repeatedly by "tuner" (Apply); name data.a, data.b in the annotation ignore ` +
				`to let "tuner" own them, or stop "tuner" from writing them`,
		},
		{
			"a field that somebody removes",
			[]ConflictingManager{{Field: "data.a"}},
			"data.a is removed repeatedly by an unknown client; name data.a in the annotation ignore to accept " +
				"that, or stop that client",
		},
		{
			"a label that cannot be ignored, because it identifies the dependent",
			[]ConflictingManager{{Field: "metadata.labels.owner", Manager: "tuner", Operation: "Update", Mark: true}},
			`metadata.labels.owner is changed repeatedly by "tuner" (Update); stop that client: dependents are identified by ` +
				`such labels and annotations`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := describeManagers(c.conflicts); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
