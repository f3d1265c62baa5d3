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

// Own writes wake nobody, and foreign ones always do, however writes, events, answers and relists follow each other.
// An object lives through a random history; at each step it is known who must have been woken.
func TestInterleavedWrites(t *testing.T) {
	for _, c := range []struct {
		name          string
		foreign, lost bool
	}{
		{name: "of our own wake nobody"},
		{name: "of others are never missed", foreign: true},
		{name: "of others are never missed, although answers are lost", foreign: true, lost: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			wakes := 0
			for seed := range uint64(3000) {
				h := newHistory(t, seed)
				h.run(c.foreign, c.lost)
				if t.Failed() {
					t.Fatalf("seed %d: %s", seed, strings.Join(h.steps, ", "))
				}
				if !c.foreign && len(h.enqueued) > 0 {
					t.Fatalf("seed %d woke %v: %s", seed, h.enqueued, strings.Join(h.steps, ", "))
				}
				wakes += len(h.enqueued)
			}
			if c.foreign == (wakes == 0) {
				t.Errorf("%d wakes", wakes)
			}
		})
	}
}

// history is that of an object: what happens at the API server, and what of it is told to the store.
type history struct {
	*watchFixture

	t      *testing.T
	random *rand.Rand
	steps  []string
	// version and uid are the object's at the API server; it is absent without a uid. objects counts those that there
	// were.
	version, objects int
	uid              types.UID
	// events are those that the watch has not told yet.
	events []happening
	// ours is the write of our own that is under way.
	ours *ourWrite
	// learned is the version up to which the answers to our writes told everything, and debt the latest version of
	// others that came while one of ours was under way.
	learned, debt int
}

type happening struct {
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
	steps := []func(){h.announce, h.apply, func() { h.answer(false) }, h.deliver, h.deliver, h.relist}
	if foreign {
		steps = append(steps, h.edit, h.remove)
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
	if got, want := live.Presence == plan.Present, h.uid != ""; got != want || got && live.ResourceVersion != strconv.Itoa(h.version) {
		h.t.Errorf("in the end %s in version %q is known, want version %d of %q", live.Presence, live.ResourceVersion, h.version, h.uid)
	}
}

func (h *history) note(format string, args ...any) {
	h.steps = append(h.steps, fmt.Sprintf(format, args...))
}

// happen makes a new version at the API server.
func (h *history) happen(removal, foreign bool) {
	h.version++
	switch {
	case removal:
		h.events = append(h.events, happening{h.version, h.uid, true, foreign})
		h.uid = ""
		return
	case h.uid == "":
		h.objects++
		h.uid = types.UID("u" + strconv.Itoa(h.objects))
	}
	h.events = append(h.events, happening{h.version, h.uid, false, foreign})
}

// edit changes the object as somebody else.
func (h *history) edit() {
	if h.uid != "" {
		h.happen(false, true)
		h.note("foreign %d", h.version)
	}
}

// remove deletes it as somebody else.
func (h *history) remove() {
	if h.uid != "" {
		h.happen(true, true)
		h.note("foreign delete %d", h.version)
	}
}

// announce begins a write of ours.
func (h *history) announce() {
	if h.ours == nil {
		h.ours = &ourWrite{done: h.observer.BeginWrite(settings)}
		h.note("announce")
	}
}

// apply lets it arrive at the API server.
func (h *history) apply() {
	if h.ours == nil || h.ours.applied {
		return
	}
	removal, uid := h.uid != "" && h.random.IntN(4) == 0, h.uid
	h.happen(removal, false)
	h.ours.applied, h.ours.version = true, h.version
	h.ours.answer = &plan.Observed{Presence: plan.Present, UID: h.uid, ResourceVersion: strconv.Itoa(h.version), Owner: "us"}
	if removal {
		h.ours.answer = deleteAnswer(uid)
	}
	h.note("own %d (delete: %t)", h.version, removal)
}

// answer ends it. What the answer tells is known to the pass that wrote; one that is lost tells nothing.
func (h *history) answer(lost bool) {
	if h.ours == nil || !h.ours.applied {
		return
	}
	ours, before := h.ours, len(h.enqueued)
	h.ours = nil
	if lost {
		h.note("answer lost")
		ours.done(nil)
		h.expectWake(h.debt > 0, before)
	} else {
		h.note("answer %d", ours.version)
		ours.done(ours.answer)
		h.expectWake(h.debt > ours.version, before)
		h.learned = max(h.learned, ours.version)
	}
	h.debt = 0
}

// deliver lets the watch tell the next event.
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
	h.told(e, before)
}

// relist lets the watch break off, and tell all that there is.
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
			h.told(e, before)
		}
	}
	h.events = nil
}

// told says that an event became known. One of somebody else that is news must wake, or be held until our own write
// is answered.
func (h *history) told(e happening, before int) {
	news := e.foreign && e.version > h.learned
	if news && h.ours != nil {
		h.debt = max(h.debt, e.version)
		return
	}
	h.expectWake(news, before)
}

func (h *history) expectWake(wanted bool, before int) {
	if wanted && len(h.enqueued) == before {
		h.t.Errorf("a foreign write woke nobody")
	}
}
