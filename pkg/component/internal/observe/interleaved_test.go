package observe

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// TestInterleavedWrites runs random histories of writes, events, responses and relists of one object. The reconciler's
// own writes enqueue no component, and foreign writes always enqueue the owner.
func TestInterleavedWrites(t *testing.T) {
	for _, c := range []struct {
		name          string
		foreign, lost bool
	}{
		{name: "own writes enqueue no component"},
		{name: "foreign writes always enqueue the owner", foreign: true},
		{name: "foreign writes always enqueue the owner, even if responses are lost", foreign: true, lost: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			enqueued := 0
			for seed := range uint64(3000) {
				h := newHistory(t, seed)
				h.run(c.foreign, c.lost)
				if t.Failed() {
					t.Fatalf("the random history with seed %d failed after the steps %s", seed, strings.Join(h.steps, ", "))
				}
				if !c.foreign && len(h.enqueued) > 0 {
					t.Fatalf("the reconciler's own writes (seed %d) enqueued %v after the steps %s", seed, h.enqueued,
						strings.Join(h.steps, ", "))
				}
				enqueued += len(h.enqueued)
			}
			if c.foreign == (enqueued == 0) {
				t.Errorf("the writes of all histories enqueued components %d times", enqueued)
			}
		})
	}
}

// history simulates an object at the API server, and the watch events that its changes cause.
type history struct {
	*watchFixture

	t      *testing.T
	random *rand.Rand
	steps  []string
	// version is the latest resource version at the API server. uid is the UID of the object, empty while the object does
	// not exist. objects is the number of objects that were created.
	version, objects int
	uid              types.UID
	// events are the events that the watch has not delivered yet.
	events []serverEvent
	// ours is the reconciler's write in flight, or nil.
	ours *ourWrite
	// answered is the latest resource version in the responses to the reconciler's writes. pending is the latest version
	// that another client wrote and whose event arrived while a write of the reconciler was in flight.
	answered, pending int
}

type serverEvent struct {
	version int
	uid     types.UID
	removal bool
	foreign bool
}

type ourWrite struct {
	done    func(*plan.Observed)
	applied bool
	version int
	answer  *plan.Observed
}

func newHistory(t *testing.T, seed uint64) *history {
	t.Helper()
	return &history{watchFixture: newWatchFixture(t), t: t, random: rand.New(rand.NewPCG(seed, 0)), version: 100}
}

func (h *history) run(foreign, lost bool) {
	steps := []func(){h.begin, h.apply, func() { h.answer(false) }, h.deliver, h.deliver, h.relist}
	if foreign {
		steps = append(steps, h.edit, h.deleteForeign)
	}
	if lost {
		steps = append(steps, func() { h.answer(true) })
	}
	for range 40 {
		steps[h.random.IntN(len(steps))]()
	}
	h.apply()
	h.answer(false)
	for len(h.events) > 0 {
		h.deliver()
	}
	live := h.observer.Live(Reader{}, settings)
	if got, want := live.Presence == plan.Present, h.uid != ""; got != want ||
		got && live.ResourceVersion != strconv.Itoa(h.version) {
		h.t.Errorf(
			"known in the end: %s in version %q, want version %d of %q",
			live.Presence,
			live.ResourceVersion,
			h.version,
			h.uid,
		)
	}
}

func (h *history) note(format string, args ...any) {
	h.steps = append(h.steps, fmt.Sprintf(format, args...))
}

// change simulates a write at the API server, by the reconciler or by another client.
func (h *history) change(removal, foreign bool) {
	h.version++
	switch {
	case removal:
		h.events = append(h.events, serverEvent{h.version, h.uid, true, foreign})
		h.uid = ""
		return
	case h.uid == "":
		h.objects++
		h.uid = types.UID("u" + strconv.Itoa(h.objects))
	}
	h.events = append(h.events, serverEvent{h.version, h.uid, false, foreign})
}

// edit changes the object as another client.
func (h *history) edit() {
	if h.uid != "" {
		h.change(false, true)
		h.note("foreign %d", h.version)
	}
}

// deleteForeign deletes the object as another client.
func (h *history) deleteForeign() {
	if h.uid != "" {
		h.change(true, true)
		h.note("foreign delete %d", h.version)
	}
}

// begin starts a write of the reconciler.
func (h *history) begin() {
	if h.ours == nil {
		h.ours = &ourWrite{done: h.observer.BeginWrite(settings)}
		h.note("begin")
	}
}

// apply executes the reconciler's write at the API server.
func (h *history) apply() {
	if h.ours == nil || h.ours.applied {
		return
	}
	removal, uid := h.uid != "" && h.random.IntN(4) == 0, h.uid
	h.change(removal, false)
	h.ours.applied, h.ours.version = true, h.version
	h.ours.answer = &plan.Observed{
		Presence:        plan.Present,
		UID:             h.uid,
		ResourceVersion: strconv.Itoa(h.version),
		Owner:           "us",
	}
	if removal {
		h.ours.answer = deleteAnswer(uid)
	}
	h.note("own %d (delete: %t)", h.version, removal)
}

// answer ends the reconciler's write: with its response, or without a response if lost is set.
func (h *history) answer(lost bool) {
	if h.ours == nil || !h.ours.applied {
		return
	}
	ours, before := h.ours, len(h.enqueued)
	h.ours = nil
	if lost {
		h.note("response lost")
		ours.done(nil)
		h.expectEnqueued(h.pending > 0, before)
	} else {
		h.note("response %d", ours.version)
		ours.done(ours.answer)
		h.expectEnqueued(h.pending > ours.version, before)
		h.answered = max(h.answered, ours.version)
	}
	h.pending = 0
}

// deliver passes the next event to the watch.
func (h *history) deliver() {
	if len(h.events) == 0 {
		return
	}
	e, before := h.events[0], len(h.enqueued)
	h.events = h.events[1:]
	h.note("event %d", e.version)
	if e.removal {
		must(h.t, h.Delete(at(strconv.Itoa(e.version), "us", e.uid)))
	} else {
		must(h.t, h.Update(at(strconv.Itoa(e.version), "us", e.uid)))
	}
	h.shown(e, before)
}

// relist interrupts the watch and lists again.
func (h *history) relist() {
	h.note("relist")
	known, before := h.observer.Live(Reader{}, settings), len(h.enqueued)
	var list []any
	if h.uid != "" {
		list = append(list, at(strconv.Itoa(h.version), "us", h.uid))
	}
	must(h.t, h.Replace(list, strconv.Itoa(h.version)))
	live := h.observer.Live(Reader{}, settings)
	news := live.Presence != known.Presence || live.ResourceVersion != known.ResourceVersion
	for _, e := range h.events {
		if news {
			h.shown(e, before)
		}
	}
	h.events = nil
}

// shown checks the effect of a delivered event. If another client caused the event and it is newer than the last
// response, it must enqueue the owner, at once or after the response to the write in flight.
func (h *history) shown(e serverEvent, before int) {
	news := e.foreign && e.version > h.answered
	if news && h.ours != nil {
		h.pending = max(h.pending, e.version)
		return
	}
	h.expectEnqueued(news, before)
}

func (h *history) expectEnqueued(wanted bool, before int) {
	if wanted && len(h.enqueued) == before {
		h.t.Errorf("a foreign write enqueued no component")
	}
}
