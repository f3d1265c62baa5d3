package fair

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Quick is the time after which a rendering needs a long place, and a request in line gives its worker back.
const Quick = 2 * time.Second

// Phase is what a rendering does.
type Phase string

// The phases. A rendering in phase Waiting has no process.
const (
	// Waiting is the phase of a request in line.
	Waiting Phase = "Waiting"
	// Kept is the phase of a request without a worker whose process is kept for it until it comes.
	Kept Phase = "Kept"
	// Held is the phase between two renderings of a pass. Whoever renders always gives the process back.
	Held Phase = "Held"
	// Starting is the phase in which the process of a rendering starts. It is nobody's fault if it takes long.
	Starting Phase = "Starting"
	// Running is the phase of the rendering itself.
	Running Phase = "Running"
	// Stopping is the phase of a rendering that was stopped and whose process has not ended yet.
	Stopping Phase = "Stopping"
)

// Rendering is a request in line, or a rendering that has a process.
type Rendering struct {
	Namespace string
	Phase     Phase
	// Since is the time at which the phase began.
	Since time.Time
	// Got is the time at which the rendering got its process.
	Got time.Time
	// Long is set for a request that needs a long place, and for a rendering that has a long place.
	Long bool
	// Detachable is set if the request can wait without a worker, and Detached if it does.
	Detachable, Detached bool
}

// State is what a decision needs to know.
type State struct {
	// Processes is the number of processes.
	Processes int
	// Running are the renderings that have a process. Waiting are the requests in line, in the order of their arrival;
	// stopped ones are in front.
	Running, Waiting []*Rendering
	// Spent is the time for which each namespace had processes, without the renderings in Running.
	Spent map[string]time.Duration
}

// Decision is what has to be done. A rendering is in one list at most.
type Decision struct {
	// Admit are the requests that get a process now, Promote the renderings that get a long place.
	Admit, Promote []*Rendering
	// Stop are the renderings that lose their process. A running one goes back to the head of the line, and needs a long
	// place from then on. One whose process was kept in vain goes back to the end.
	Stop []*Rendering
	// Detach are the requests that give their worker back.
	Detach []*Rendering
	// Next is the time at which another decision is due, or zero. Each arrival and each end needs another decision, too.
	Next time.Time
}

// LongPlaces returns the number of long places among a number of processes.
func LongPlaces(processes int) int { return max(1, processes-1) }

// Decide returns what has to be done now. It changes nothing. The line is locked meanwhile, so Decide looks at each
// request a fixed number of times, and compares the namespaces once for each process that it gives or takes.
func Decide(s State, now time.Time) Decision {
	d := newDecider(s, now)
	d.decide()
	return d.Decision
}

// costs returns the time that each namespace has spent until now.
func costs(s State, now time.Time) map[string]time.Duration {
	cost := make(map[string]time.Duration, len(s.Spent))
	maps.Copy(cost, s.Spent)
	for _, r := range s.Running {
		cost[r.Namespace] += now.Sub(r.Got)
	}
	return cost
}

type decider struct {
	State
	Decision
	now time.Time
	// cost is the time that each namespace has spent, and processes the number of processes that it has.
	cost      map[string]time.Duration
	processes map[string]int
	// reserved are the waiting requests that have a long place if they get a process, and done the decided ones.
	reserved, done map[*Rendering]bool
	// ready are the requests in line that can run if they get a process; see findReady.
	ready candidates
	// compared is the number of comparisons, which tests bound.
	compared int
}

func newDecider(s State, now time.Time) *decider {
	d := &decider{
		State: s, now: now, cost: costs(s, now), processes: map[string]int{},
		reserved: map[*Rendering]bool{}, done: map[*Rendering]bool{},
	}
	for _, r := range s.Running {
		d.processes[r.Namespace]++
	}
	return d
}

func (d *decider) decide() {
	d.givePlaces()
	d.findReady()
	d.giveProcesses()
	d.stop()
	d.detach()
	d.plan()
}

// overdue reports whether a rendering has run for longer than a quick one, without a long place.
func (d *decider) overdue(r *Rendering) bool { return r.Phase == Running && !r.Long && d.isOld(r) }

// isOld reports whether the phase of a rendering has lasted for Quick.
func (d *decider) isOld(r *Rendering) bool { return d.now.Sub(r.Since) >= Quick }

// take removes the candidate whose namespace has spent the least time, and returns it, or nil. Among equals it is the
// first one of the namespaces with the fewest processes.
func (d *decider) take(c *candidates) *Rendering {
	least := -1
	for i, list := range *c {
		if least < 0 || d.compare(list[0], (*c)[least][0]) < 0 {
			least = i
		}
	}
	if least < 0 {
		return nil
	}
	return c.takeFirst(least)
}

// compare compares two candidates by what their namespaces have spent, then by their processes, then by their order.
func (d *decider) compare(a, b candidate) int {
	d.compared++
	if byCost := cmp.Compare(d.cost[a.Namespace], d.cost[b.Namespace]); byCost != 0 {
		return byCost
	}
	return cmp.Or(cmp.Compare(d.processes[a.Namespace], d.processes[b.Namespace]), cmp.Compare(a.position, b.position))
}

// choose marks a rendering as decided. Its namespace has to pay for a quick rendering in the rest of the decision.
func (d *decider) choose(r *Rendering) {
	d.done[r] = true
	d.cost[r.Namespace] += Quick
}

// givePlaces gives the free long places to overdue renderings, and to requests that need one.
func (d *decider) givePlaces() {
	free := LongPlaces(d.Processes)
	for _, r := range d.Running {
		if r.Long {
			free--
		}
	}
	if free <= 0 {
		return
	}
	var long []*Rendering
	for _, r := range d.Running {
		if d.overdue(r) {
			long = append(long, r)
		}
	}
	for _, r := range d.Waiting {
		if r.Long {
			long = append(long, r)
		}
	}
	for c := candidatesOf(long); free > 0; free-- {
		next := d.take(&c)
		switch {
		case next == nil:
			return
		case next.Phase == Waiting:
			d.reserved[next] = true
		default:
			d.choose(next)
			d.Promote = append(d.Promote, next)
		}
	}
}

// findReady finds the requests in line that can run if they get a process.
func (d *decider) findReady() {
	var ready []*Rendering
	for _, r := range d.Waiting {
		if !r.Long || d.reserved[r] {
			ready = append(ready, r)
		}
	}
	d.ready = candidatesOf(ready)
}

// giveProcesses gives the free processes to requests in line.
func (d *decider) giveProcesses() {
	for free := d.Processes - len(d.Running); free > 0; free-- {
		next := d.take(&d.ready)
		if next == nil {
			return
		}
		d.choose(next)
		d.Admit = append(d.Admit, next)
	}
}

// stop stops overdue renderings for requests of other namespaces, and takes processes that were kept in vain.
func (d *decider) stop() {
	victims := d.victims()
	if len(victims) == 0 {
		return
	}
	for _, r := range d.Running {
		if r.Phase == Stopping {
			// Its process is free soon.
			d.take(&d.ready)
		}
	}
	for len(victims) > 0 {
		next := d.take(&d.ready)
		if next == nil {
			return
		}
		i := slices.IndexFunc(victims, func(r *Rendering) bool { return r.Phase == Kept || r.Namespace != next.Namespace })
		if i < 0 {
			// Nothing is stopped for the other requests of this namespace, either.
			d.ready.drop(next.Namespace)
			continue
		}
		d.done[victims[i]] = true
		d.Stop = append(d.Stop, victims[i])
		victims = slices.Delete(victims, i, i+1)
	}
}

// victims returns the renderings that can lose their process, the one whose namespace has spent the most in front.
func (d *decider) victims() []*Rendering {
	var victims []*Rendering
	for _, r := range d.Running {
		if !d.done[r] && (d.overdue(r) || r.Phase == Kept && d.isOld(r)) {
			victims = append(victims, r)
		}
	}
	slices.SortStableFunc(victims, func(a, b *Rendering) int {
		return cmp.Compare(d.cost[b.Namespace], d.cost[a.Namespace])
	})
	return victims
}

// detach lets requests that wait for long give their workers back: those that need a long place or have waited for
// Quick, and all others of a namespace with such a request or with a rendering of more than Quick.
func (d *decider) detach() {
	slow := map[string]bool{}
	for _, r := range d.Running {
		slow[r.Namespace] = slow[r.Namespace] || r.Long || d.overdue(r) || r.Phase == Stopping
	}
	for _, r := range d.Waiting {
		slow[r.Namespace] = slow[r.Namespace] || r.Long || r.Detached || d.isOld(r)
	}
	for _, r := range d.Waiting {
		if slow[r.Namespace] && r.Detachable && !r.Detached && !d.done[r] {
			d.Detach = append(d.Detach, r)
		}
	}
}

// plan determines when the next decision is due: when a phase has lasted for Quick, also a phase that begins now.
func (d *decider) plan() {
	if len(d.Admit) > 0 {
		d.Next = d.now.Add(Quick)
	}
	for _, list := range [][]*Rendering{d.Running, d.Waiting} {
		for _, r := range list {
			due := r.Since.Add(Quick)
			timed := r.Phase == Kept || r.Phase == Running && !r.Long || r.Phase == Waiting && r.Detachable && !r.Detached
			if timed && due.After(d.now) && (d.Next.IsZero() || due.Before(d.Next)) {
				d.Next = due
			}
		}
	}
}
