package reconcile

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
)

// revisionStart is what a revision begins with: the digest of its inputs, the id of its rendering, empty if that is
// deterministic, and its objects of deletion phases.
type revisionStart struct {
	inputs, id string
	phases     []string
}

// begin begins a revision, and writes the status, as a pass does.
func (r *recording) begin(s revisionStart) error {
	r.t.Helper()
	set := phaseSet(r.t, s.phases...)
	set.ID, r.inputs.Digest = s.id, s.inputs
	c := r.component()
	inFlight := r.InFlight.Begin(web)
	defer inFlight.End()
	inFlight.Loaded(c.Object)
	err := r.Pass.begin(r.t.Context(), c, work{owner: owner, target: r.target, inputs: r.inputs}, set)
	written := r.Components.WriteStatus(r.t.Context(), c.Object, components.RefOf(c.GetStatus()))
	return errors.Join(err, written)
}

// ids returns the ids of the records of a kind.
func (r *recording) ids(kind records.Kind) []string {
	var ids []string
	for _, name := range r.Names("shop") {
		if strings.HasPrefix(name, string(kind)+"-") {
			ids = append(ids, records.IDOf(name))
		}
	}
	return ids
}

// onWrites calls act with the name and the number of each write: "status", or the verb and the kind of a Secret.
func (r *recording) onWrites(act func(write string, number int) error) {
	counts := map[string]int{}
	do := func(write string) error {
		counts[write]++
		return act(write, counts[write])
	}
	r.beforeStatus = func() error { return do("status") }
	r.Refuse = func(verb, name string) error {
		if verb != "patch" && verb != "delete" {
			return nil
		}
		kind, _, _ := strings.Cut(name, "-")
		return do(verb + " " + kind)
	}
}

// readRecord makes a restarted process read the record that the status names, and find the others.
func (r *recording) readRecord() {
	state := &r.States.Of(web).Inventory.Records
	state.SetID(records.Rendering, r.stored().Status.RenderedSet)
	for _, secret := range r.All() {
		state.AddUnnamedSecret(secret)
	}
}

// pointOfStart is a write during the start of a revision: "status", or the verb and the kind of a Secret, and its
// number among equal ones. crashed is what the stored status names if the process ends after this write, and failed is
// what it names after the pass if only this write fails: the inputs of a revision, and its rendering.
type pointOfStart struct {
	write           string
	number          int
	crashed, failed string
}

// Revision six begins after revision five.
func TestTheStatusNamesARevisionTogetherWithItsRecords(t *testing.T) {
	five := revisionStart{"five", "r5", []string{"p5"}}
	for _, c := range []struct {
		name   string
		before revisionStart
		after  revisionStart
		points []pointOfStart
	}{
		{
			"with other generated values and other deletion phases", five,
			revisionStart{"six", "r6", []string{"p6"}},
			[]pointOfStart{
				{"patch rendered", 1, "five r5", "five r5"},
				{"patch phases", 1, "five r5", "five r5"},
				// The status names the new deletion phases and the new rendering.
				{"status", 1, "six r6", "five r5"},
				{"delete phases", 1, "six r6", "five r5"},
				{"status", 2, "six r6", "five r5"},
				{"delete rendered", 1, "six r6", "six r6"},
			},
		},
		{
			"with other generated values and the first deletion phases",
			revisionStart{"five", "r5", nil},
			revisionStart{"six", "r6", []string{"p6"}},
			[]pointOfStart{
				// The status announces deletion phases.
				{"status", 1, "five r5", "five r5"},
				{"patch rendered", 1, "five r5", "five r5"},
				{"patch phases", 1, "five r5", "five r5"},
				{"status", 2, "six r6", "five r5"},
				{"delete rendered", 1, "six r6", "six r6"},
			},
		},
		{
			"with other generated values",
			revisionStart{"five", "r5", nil},
			revisionStart{"six", "r6", nil},
			[]pointOfStart{
				{"patch rendered", 1, "five r5", "five r5"},
				{"status", 1, "six r6", "five r5"},
				{"delete rendered", 1, "six r6", "six r6"},
			},
		},
		{
			"without generated values", five,
			revisionStart{"six", "", []string{"p6"}},
			[]pointOfStart{
				{"patch phases", 1, "five r5", "five r5"},
				// A deterministic rendering does not need the record of other inputs.
				{"status", 1, "six r5", "five r5"},
				{"delete phases", 1, "six r5", "five r5"},
				{"status", 2, "six ", "six r5"},
				{"delete rendered", 1, "six ", "six "},
			},
		},
	} {
		for _, row := range c.points {
			for _, crashes := range []bool{false, true} {
				name, want := c.name+": "+row.write, row.failed
				if crashes {
					name, want = name+" is the last write", row.crashed
				} else {
					name += " fails"
				}
				t.Run(name, func(t *testing.T) {
					r := newRecording(t)
					r.Inventory = r.ComponentRecord
					if err := r.begin(c.before); err != nil {
						t.Fatal(err)
					}
					ended := false
					r.onWrites(func(write string, number int) error {
						isRow := write == row.write && number == row.number
						if ended || isRow && !crashes {
							return errOh
						}
						ended = isRow
						return nil
					})
					if err := r.begin(c.after); err == nil {
						t.Fatal("this write was not made")
					}
					r.onWrites(func(string, int) error { return nil })
					if s := r.stored().Status; s.InputDigest+" "+s.RenderedSet != want {
						t.Errorf("the status names the inputs %s and the rendering %q, want %q", s.InputDigest, s.RenderedSet, want)
					}
					r.goesOn(c.before, c.after, crashes)
				})
			}
		}
	}
}

// goesOn expects that the rendering of the previous revision is recorded as long as the status names its inputs, that
// the previous inputs may come back, and that the next revision leaves no other records.
func (r *recording) goesOn(before, after revisionStart, restart bool) {
	r.t.Helper()
	if restart {
		r.States.Forget(web)
	}
	r.readRecord()
	s := r.stored().Status
	if s.InputDigest == before.inputs {
		// The spec was changed back.
		if err := r.begin(before); err != nil {
			r.t.Fatal(err)
		}
		if s := r.stored().Status; s.RenderedSet != before.id || !slices.Contains(r.ids(records.Rendering), before.id) {
			r.t.Errorf("the status names %q, and these renderings are recorded: %q", s.RenderedSet, r.ids(records.Rendering))
		}
	}
	if err := r.begin(after); err != nil {
		r.t.Fatal(err)
	}
	s = r.stored().Status
	if s.InputDigest != after.inputs || s.RenderedSet != after.id {
		r.t.Errorf("the status names the inputs %s and the rendering %q", s.InputDigest, s.RenderedSet)
	}
	// The next pass deletes what the one before could not.
	if err := r.begin(after); err != nil {
		r.t.Fatal(err)
	}
	renderings := r.ids(records.Rendering)
	if left := len(renderings); after.id == "" && left > 0 || after.id != "" && (left != 1 || renderings[0] != after.id) {
		r.t.Errorf("these renderings are recorded: %q, want %q", renderings, after.id)
	}
	phases := r.ids(records.Phases)
	if len(phases) != len(after.phases) || len(phases) == 1 && phases[0] != s.PhaseRecord {
		r.t.Errorf("these deletion phases are recorded: %q, want %q", phases, s.PhaseRecord)
	}
}

func TestARevisionHasBegunEvenIfPreviousRecordsCannotBeDeleted(t *testing.T) {
	w := newWorld(t, withRecord)
	w.inputs.Digest = "others"
	component := w.component()
	w.fails["begun"] = errOh
	if _, err := w.Apply(t.Context(), component); !errors.Is(err, errOh) {
		t.Fatal(err)
	}
	if s := component.GetStatus(); s.Revision != 2 || s.InputDigest != "others" {
		t.Errorf("the status has revision %d of the inputs %s", s.Revision, s.InputDigest)
	}
}
