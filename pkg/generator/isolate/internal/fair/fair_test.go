package fair

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// at returns a rendering whose phase has lasted for a number of seconds. The namespace is the first letter of its name.
func at(name string, phase Phase, seconds float64) *Rendering {
	since := now.Add(-time.Duration(seconds * float64(time.Second)))
	return &Rendering{Namespace: name, Phase: phase, Since: since, Got: since, Detachable: true}
}

func running(name string, seconds float64) *Rendering { return at(name, Running, seconds) }

func waiting(name string, seconds float64) *Rendering { return at(name, Waiting, seconds) }

func long(r *Rendering) *Rendering {
	r.Long = true
	return r
}

func detached(r *Rendering) *Rendering {
	r.Detached = true
	return r
}

// inCall marks a request that waits in the call, because it has no turn.
func inCall(r *Rendering) *Rendering {
	r.Detachable = false
	return r
}

func TestDecide(t *testing.T) {
	for _, c := range []struct {
		name      string
		processes int
		running   []*Rendering
		waiting   []*Rendering
		spent     map[string]time.Duration
		want      string
	}{
		{name: "nothing to do", processes: 2, want: ""},
		{
			name: "a request gets a free process", processes: 2, waiting: []*Rendering{waiting("a1", 0)},
			want: "admit a1; next 2s",
		},
		{
			name: "quick renderings use all processes", processes: 3,
			waiting: []*Rendering{waiting("a1", 0), waiting("a2", 0), waiting("a3", 0), waiting("a4", 0)},
			want:    "admit a1 a2 a3; next 2s",
		},
		{
			name: "the namespace that has spent least is next", processes: 1,
			waiting: []*Rendering{waiting("a1", 1), waiting("b1", 0)}, spent: map[string]time.Duration{"a": 5, "b": 4},
			want: "admit b1; next 1s",
		},
		{
			name: "equal namespaces take turns", processes: 3,
			waiting: []*Rendering{waiting("a1", 1), waiting("a2", 1), waiting("a3", 1), waiting("b1", 1), waiting("c1", 0)},
			want:    "admit a1 b1 c1; next 1s",
		},
		{
			name: "the time of running renderings counts", processes: 3,
			running: []*Rendering{running("a1", 1)}, waiting: []*Rendering{waiting("a2", 1), waiting("b1", 0), waiting("b2", 0)},
			want: "admit b1 a2; next 1s",
		},
		{
			name: "among equal namespaces the one with the fewest processes is next", processes: 2,
			running: []*Rendering{at("a1", Kept, 0)}, waiting: []*Rendering{waiting("a2", 1), waiting("b1", 1)},
			want: "admit b1; next 1s",
		},
		{
			name: "a rendering of more than 2 s gets a free long place", processes: 2,
			running: []*Rendering{running("a1", 2)}, want: "promote a1",
		},
		{
			name: "a rendering of less than 2 s gets none", processes: 2,
			running: []*Rendering{running("a1", 1.5)}, want: "next 500ms",
		},
		{
			name: "the start of a process does not count", processes: 2,
			running: []*Rendering{at("a1", Starting, 20), at("a2", Starting, 20)}, waiting: []*Rendering{waiting("b1", 1)},
			want: "next 1s",
		},
		{
			name: "one process has one long place", processes: 1,
			running: []*Rendering{running("a1", 2)}, waiting: []*Rendering{waiting("b1", 1)}, want: "promote a1; next 1s",
		},
		{
			name: "without a long place, a rendering is stopped for another namespace", processes: 2,
			running: []*Rendering{long(running("a1", 9)), running("a2", 2)}, waiting: []*Rendering{waiting("b1", 1)},
			want: "stop a2; next 1s",
		},
		{
			name: "no rendering is stopped for its own namespace", processes: 2,
			running: []*Rendering{long(running("a1", 9)), running("a2", 9)}, waiting: []*Rendering{waiting("a3", 1)},
			want: "detach a3; next 1s",
		},
		{
			name: "no rendering is stopped while nobody waits", processes: 2,
			running: []*Rendering{long(running("a1", 9)), running("b1", 9)}, want: "",
		},
		{
			name: "no rendering is stopped for a request that needs a long place, which is taken", processes: 2,
			running: []*Rendering{long(running("a1", 9)), running("a2", 9)},
			waiting: []*Rendering{detached(long(waiting("b1", 1)))},
			want:    "",
		},
		{
			name: "no rendering is stopped while a process is free", processes: 3,
			running: []*Rendering{long(running("a1", 9)), long(running("a2", 9))}, waiting: []*Rendering{waiting("b1", 0)},
			want: "admit b1; next 2s",
		},
		{
			name: "no rendering is stopped while another one stops for the same request", processes: 3,
			running: []*Rendering{long(running("a1", 9)), at("a2", Stopping, 0), running("a3", 9)},
			waiting: []*Rendering{waiting("b1", 1)},
			// The places of three processes are two, so that the oldest rendering without a place gets the second one.
			want: "promote a3; next 1s",
		},
		{
			name: "as many renderings are stopped as requests wait", processes: 4,
			running: []*Rendering{long(running("a1", 9)), long(running("a2", 9)), long(running("a3", 9)), running("a4", 9)},
			waiting: []*Rendering{waiting("b1", 1), waiting("c1", 1)},
			want:    "stop a4; next 1s",
		},
		{
			name: "a quick rendering is not stopped", processes: 2,
			running: []*Rendering{long(running("a1", 9)), running("a2", 1)}, waiting: []*Rendering{waiting("b1", 1)},
			want: "next 1s",
		},
		{
			name: "the namespaces take turns for a long place", processes: 2,
			running: []*Rendering{running("a1", 3)}, waiting: []*Rendering{detached(long(waiting("b1", 1)))},
			spent: map[string]time.Duration{"a": time.Minute},
			want:  "admit b1; next 2s",
		},
		{
			name: "a long request that is next takes the process of a rendering without a place", processes: 2,
			running: []*Rendering{running("a1", 3), running("c1", 1)}, waiting: []*Rendering{detached(long(waiting("b1", 1)))},
			spent: map[string]time.Duration{"a": time.Minute},
			want:  "stop a1; next 1s",
		},
		{
			name: "a long request never runs without a long place", processes: 2,
			running: []*Rendering{long(running("a1", 9))}, waiting: []*Rendering{detached(long(waiting("b1", 1)))},
			want: "",
		},
		{
			name: "a long request does not hold up the quick ones of its namespace", processes: 2,
			running: []*Rendering{long(running("a1", 9))},
			waiting: []*Rendering{detached(long(waiting("b1", 1))), detached(waiting("b2", 1))},
			want:    "admit b2; next 2s",
		},
		{
			name: "a stopped rendering is at the head of its namespace", processes: 2,
			waiting: []*Rendering{detached(long(waiting("a9", 0))), detached(waiting("a1", 9))},
			running: []*Rendering{running("b1", 1)},
			want:    "admit a9; next 1s",
		},
		{
			name: "a request keeps its worker for 2 s", processes: 1,
			running: []*Rendering{running("b1", 1)}, waiting: []*Rendering{waiting("a1", 1.9), waiting("c1", 1)},
			want: "next 100ms",
		},
		{
			name: "a request gives its worker back after 2 s", processes: 1,
			running: []*Rendering{running("b1", 1)}, waiting: []*Rendering{waiting("a1", 2), waiting("c1", 1)},
			want: "detach a1; next 1s",
		},
		{
			name: "all requests of a namespace with long renderings give their workers back at once", processes: 2,
			running: []*Rendering{long(running("a1", 9)), running("b1", 1)},
			waiting: []*Rendering{waiting("a2", 0), waiting("a3", 0), waiting("b2", 0)},
			want:    "detach a2 a3; next 1s",
		},
		{
			name: "all requests of a namespace give their workers back once one has", processes: 1,
			running: []*Rendering{running("b1", 1)}, waiting: []*Rendering{detached(waiting("a1", 3)), waiting("a2", 0)},
			want: "detach a2; next 1s",
		},
		{
			name: "a request without a turn waits in the call", processes: 1,
			running: []*Rendering{running("b1", 1)}, waiting: []*Rendering{inCall(waiting("a1", 9))}, want: "next 1s",
		},
		{
			name: "a process that is kept in vain goes to others", processes: 1,
			running: []*Rendering{at("a1", Kept, 2)}, waiting: []*Rendering{waiting("a2", 0)}, want: "stop a1; next 2s",
		},
		{
			name: "a process is kept for 2 s", processes: 1,
			running: []*Rendering{at("a1", Kept, 1)}, waiting: []*Rendering{waiting("b1", 0)}, want: "next 1s",
		},
		{
			name: "a process is held between two renderings of a pass", processes: 1,
			running: []*Rendering{at("a1", Held, 9)}, waiting: []*Rendering{waiting("b1", 0)}, want: "next 2s",
		},
		{
			name: "a process is kept while nobody else wants it", processes: 1,
			running: []*Rendering{long(at("a1", Kept, 9))}, want: "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			names := map[*Rendering]string{}
			for _, r := range slices.Concat(c.running, c.waiting) {
				names[r] = r.Namespace
				r.Namespace = r.Namespace[:1]
			}
			before := fmt.Sprintf("%v %v %v", deref(c.running), deref(c.waiting), c.spent)
			d := Decide(State{Processes: c.processes, Running: c.running, Waiting: c.waiting, Spent: c.spent}, now)
			if got := describe(d, names); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if after := fmt.Sprintf("%v %v %v", deref(c.running), deref(c.waiting), c.spent); after != before {
				t.Errorf("Decide changed its argument from %s to %s", before, after)
			}
		})
	}
}

func deref(list []*Rendering) (values []Rendering) {
	for _, r := range list {
		values = append(values, *r)
	}
	return values
}

// describe returns a decision as a text.
func describe(d Decision, names map[*Rendering]string) string {
	var parts []string
	for _, list := range []struct {
		verb string
		of   []*Rendering
	}{{"admit", d.Admit}, {"promote", d.Promote}, {"stop", d.Stop}, {"detach", d.Detach}} {
		words := []string{list.verb}
		for _, r := range list.of {
			words = append(words, names[r])
		}
		if len(words) > 1 {
			parts = append(parts, strings.Join(words, " "))
		}
	}
	if !d.Next.IsZero() {
		parts = append(parts, "next "+d.Next.Sub(now).String())
	}
	return strings.Join(parts, "; ")
}

func TestANamespaceHasNoCreditForIdleTime(t *testing.T) {
	for _, c := range []struct {
		name    string
		spent   map[string]time.Duration
		present []*Rendering
		enters  string
		want    map[string]time.Duration
	}{
		{"nobody else is there, so all begin again", map[string]time.Duration{"a": 5, "b": 3}, nil, "a", nil},
		{
			"a new namespace begins where the others are",
			map[string]time.Duration{"a": 5, "b": 3},
			[]*Rendering{waiting("a", 0), waiting("b", 0)},
			"c",
			map[string]time.Duration{"a": 5, "b": 3, "c": 3},
		},
		{
			"the time of running renderings counts",
			map[string]time.Duration{},
			[]*Rendering{running("a", 1)},
			"c",
			map[string]time.Duration{"c": time.Second},
		},
		{
			"a namespace that has spent more comes back with what it has spent",
			map[string]time.Duration{"a": 5, "b": 9},
			[]*Rendering{waiting("a", 0)},
			"b",
			map[string]time.Duration{"a": 5, "b": 9},
		},
		{
			"a namespace that is there keeps what it has spent",
			map[string]time.Duration{"a": 5, "b": 3},
			[]*Rendering{waiting("a", 0), waiting("b", 0)},
			"b",
			map[string]time.Duration{"a": 5, "b": 3},
		},
		{
			"accounts below those of the others are forgotten",
			map[string]time.Duration{"a": 5, "b": 3, "d": 9},
			[]*Rendering{waiting("a", 0)},
			"c",
			map[string]time.Duration{"a": 5, "c": 5, "d": 9},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			accounts := Accounts{spent: c.spent}
			accounts.Enter(c.enters, State{Processes: 2, Running: onlyRunning(c.present), Waiting: c.present}, now)
			if got := accounts.Spent(); !maps.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func onlyRunning(list []*Rendering) (running []*Rendering) {
	for _, r := range list {
		if r.Phase == Running {
			running = append(running, r)
		}
	}
	return running
}

// A simulation with a clock of its own: what becomes of the quick renderings of one namespace beside long ones of
// another.
func TestQuickRenderingsBesideLongOnes(t *testing.T) {
	for _, processes := range []int{2, 3, 4} {
		t.Run(fmt.Sprint(processes), func(t *testing.T) {
			s := &simulation{processes: processes, now: now}
			for range 60 {
				s.enter("hostile", time.Minute)
			}
			s.run(10 * time.Second)
			for range 20 {
				s.enter("good", 100*time.Millisecond)
			}
			began := s.now
			for s.left("good") > 0 {
				s.run(100 * time.Millisecond)
			}
			// Alone, they take 2 s in one process. Beside the others, the running quantum of the others comes first.
			if took := s.now.Sub(began); took > 4*time.Second {
				t.Errorf("the good renderings took %s", took)
			}
			if s.workers > 0 && s.left("hostile") > 0 {
				t.Errorf("%d hostile requests have a worker", s.workers)
			}
		})
	}
}

// simulation carries decisions out in simulated time.
type simulation struct {
	processes int
	now       time.Time
	running   []*Rendering
	waiting   []*Rendering
	needs     map[*Rendering]time.Duration
	accounts  Accounts
	// workers is the number of hostile requests in line that keep a worker.
	workers int
}

func (s *simulation) state() State {
	return State{Processes: s.processes, Running: s.running, Waiting: s.waiting, Spent: s.accounts.Spent()}
}

func (s *simulation) enter(namespace string, needs time.Duration) {
	if s.needs == nil {
		s.needs = map[*Rendering]time.Duration{}
	}
	s.accounts.Enter(namespace, s.state(), s.now)
	r := &Rendering{Namespace: namespace, Phase: Waiting, Since: s.now, Detachable: true}
	s.needs[r] = needs
	s.waiting = append(s.waiting, r)
}

func (s *simulation) left(namespace string) (n int) {
	for _, r := range slices.Concat(s.running, s.waiting) {
		if r.Namespace == namespace {
			n++
		}
	}
	return n
}

// run simulates a time in steps of 50 ms.
func (s *simulation) run(d time.Duration) {
	const step = 50 * time.Millisecond
	for end := s.now.Add(d); s.now.Before(end); s.now = s.now.Add(step) {
		for _, r := range slices.Clone(s.running) {
			if s.now.Sub(r.Since) >= s.needs[r] {
				s.end(r)
			}
		}
		d := Decide(s.state(), s.now)
		for _, r := range d.Promote {
			r.Long = true
		}
		for _, r := range d.Stop {
			s.end(r)
			r.Phase, r.Since, r.Long, r.Detached = Waiting, s.now, true, true
			s.waiting = append([]*Rendering{r}, s.waiting...)
		}
		for _, r := range d.Detach {
			r.Detached = true
		}
		for _, r := range d.Admit {
			s.waiting = slices.DeleteFunc(s.waiting, equals(r))
			s.running = append(s.running, r)
			r.Phase, r.Since, r.Got, r.Detached = Running, s.now, s.now, false
		}
	}
	s.workers = 0
	for _, r := range s.waiting {
		if r.Namespace == "hostile" && !r.Detached {
			s.workers++
		}
	}
}

func (s *simulation) end(r *Rendering) {
	s.running = slices.DeleteFunc(s.running, equals(r))
	s.accounts.Charge(r.Namespace, s.now.Sub(r.Got))
}

func equals(wanted *Rendering) func(*Rendering) bool {
	return func(r *Rendering) bool { return r == wanted }
}

// crowds are states with 5,000 requests in line.
func crowds() map[string]State {
	const requests = 5000
	busy := []*Rendering{
		long(running("0", 9)), long(running("0", 9)), long(running("0", 9)), running("0", 9), at("0", Stopping, 1),
	}
	crowds := map[string]State{}
	for name, state := range map[string]State{
		"quick renderings run":       {Processes: 2, Running: []*Rendering{running("0", 1), running("1", 1)}},
		"a rendering is stopped":     {Processes: 5, Running: busy, Spent: map[string]time.Duration{"0": time.Hour}},
		"its own namespace is next":  {Processes: 5, Running: busy, Spent: map[string]time.Duration{"0": -time.Hour}},
		"all processes are free":     {Processes: 8},
		"processes are kept in vain": {Processes: 2, Running: []*Rendering{at("0", Kept, 9), at("1", Kept, 9)}},
	} {
		for _, namespaces := range []int{1, 50, requests} {
			state.Waiting = nil
			for i := range requests {
				r := detached(waiting(fmt.Sprint(i%namespaces), 1))
				// A namespace has quick requests and long ones.
				r.Long = i/namespaces%2 == 1
				state.Waiting = append(state.Waiting, r)
			}
			crowds[fmt.Sprintf("%s, namespaces: %d", name, namespaces)] = state
		}
	}
	return crowds
}

func TestADecisionComparesEachNamespaceOnceForEachProcess(t *testing.T) {
	for name, s := range crowds() {
		t.Run(name, func(t *testing.T) {
			d := newDecider(s, now)
			d.decide()
			namespaces := map[string]bool{}
			for _, r := range s.Waiting {
				namespaces[r.Namespace] = true
			}
			// A process has at most one long place, one request that gets it, and one rendering that is stopped. One more
			// choice finds a namespace for which nothing can be stopped.
			if most := (3*s.Processes + 1) * len(namespaces); d.compared > most {
				t.Errorf("%d comparisons for %d namespaces, want at most %d", d.compared, len(namespaces), most)
			}
		})
	}
}

func BenchmarkDecide(b *testing.B) {
	for name, s := range crowds() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Decide(s, now)
			}
		})
	}
}
