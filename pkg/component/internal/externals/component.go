package externals

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/internal/backoff"
	"github.com/fairlead-io/fairlead/pkg/component/internal/apierror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/externalstate"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// component contains the situations of the externals of one component. All changes of a situation are steps, which it
// makes one after the other, and whose effects it carries out. Its lock protects the fields below it, and those of its
// items. The lock of the stateStore is locked before it, and those of polls and accounts after it.
type component struct {
	manager *Manager
	owner   manifests.Owner
	name    types.NamespacedName
	stored  *stateStore

	mu    sync.Mutex
	items map[manifests.Key]*item
	// results are the results of calls that are not stored yet, and flushing is set while they are being stored.
	results  map[*item]callResult
	flushing bool
	// finished are the actions that ended since the last pass.
	finished []action
	// stopped is set from Forget or Pause to the next pass.
	stopped bool
	// requested is the value of the annotation that requested a pass, as the last pass saw it. It is nil before.
	requested *string
}

// item is one external of a component.
type item struct {
	component *component // It never changes.
	situation situation
	// account makes the calls; nil if the external cannot be called yet.
	account *account
	// version counts the changes of the facts, and fingerprint identifies the current ones. status is the state for the
	// metrics.
	version     int64
	fingerprint string
	status      Status
}

func (c *component) change(it *item, f func(*step)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.make(it, f)
}

// enter enters items with the given keys. The caller holds the lock.
func (c *component) enter(keys []manifests.Key) {
	for _, key := range keys {
		if c.items[key] == nil {
			s := situation{wanted: wanted{owner: c.owner, key: key}}
			c.items[key] = &item{component: c, situation: s}
		}
	}
}

// changeAll makes a step of each item, after it has entered the given keys. Items that are neither desired nor recorded
// are dropped.
func (c *component) changeAll(keys []manifests.Key, f func(*step)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.enter(keys)
	for key, it := range c.items {
		c.make(it, f)
		if it.situation.isUnused() {
			c.manager.polls.remove(it)
			// An answer or an alarm that comes later must not take the account again.
			it.situation.wanted.account = accountKey{}
			it.use(accountKey{})
			delete(c.items, key)
		}
	}
}

// make makes a step, and carries out what follows. The caller holds the lock.
func (c *component) make(it *item, f func(*step)) {
	t := &step{s: it.situation}
	t.s.now = c.manager.now()
	f(t)
	it.situation = t.s
	it.use(t.s.wanted.account)
	c.record(it, t)
	c.schedule(it, t)
	if t.finished != nil {
		c.finished = append(c.finished, *t.finished)
	}
	if t.event[0] != "" {
		c.manager.options.Tell(c.name, t.event[0], t.event[1])
	}
	if t.compare && it.compare(it.facts().current()) || t.wake {
		c.wake()
	}
	if call := t.call; call != nil {
		it.account.enqueue(&queued{
			urgent: true, window: call.window,
			run:    func(ctx context.Context) { call.run(ctx, it) },
			refuse: func() { c.change(it, call.refused) },
		})
	}
}

// record begins to store the result of a step. The caller holds the lock.
func (c *component) record(it *item, t *step) {
	if t.result == nil {
		return
	}
	if c.results[it] = *t.result; c.flushing {
		return
	}
	c.flushing = true
	delay := gathering
	if t.result.urgent {
		delay = 0
	}
	c.manager.calls.Go(func() { c.flush(delay) })
}

// schedule schedules the next observation of an item, or begins it, and the next pass. The caller holds the lock.
func (c *component) schedule(it *item, t *step) {
	if t.interval > 0 {
		// The polls of many externals must not coincide.
		t.pollAt(t.s.now.Add(backoff.Around(t.interval, 0.05)))
	}
	if t.resume && !c.manager.polls.isScheduled(it) {
		t.pollAt(t.s.now)
	}
	if !t.next.IsZero() && it.account != nil && !c.stopped {
		c.manager.polls.schedule(it, it.account, t.next)
	}
	if a := t.alarm; a != nil {
		c.manager.after(a.at.Sub(t.s.now), func() { c.change(it, func(t *step) { t.wake = a.holds(&t.s) }) })
	}
}

// observe begins a call that shows whether an external exists, and in which state.
func (c *component) observe(it *item) {
	c.change(it, func(t *step) {
		a := it.account
		if c.stopped || a == nil || !t.s.mayObserve() {
			return
		}
		if t.s.observed.firstAsked.IsZero() {
			t.s.observed.firstAsked = t.s.now
		}
		if t.s.isListed() {
			if first, listed := a.await(it); listed {
				t.s.underway.observing = true
				if first {
					a.enqueue(&queued{run: func(ctx context.Context) { c.manager.list(ctx, a) }})
				}
				return
			}
		}
		asked := t.question()
		a.enqueue(&queued{
			urgent: asked.method == MethodFind, run: func(ctx context.Context) { asked.run(ctx, it) },
		})
	})
}

func (c *component) wake() {
	if !c.stopped {
		c.manager.options.Wake(c.name)
	}
}

func (it *item) use(key accountKey) {
	if it.account != nil && it.account.key == key || it.account == nil && key == (accountKey{}) {
		return
	}
	previous := it.account
	it.account = nil
	if key != (accountKey{}) {
		it.account = it.component.manager.accounts.use(key)
	}
	if previous != nil {
		previous.release()
	}
}

func (it *item) facts() facts { return facts{&it.situation, it.component.manager.reduce} }

// compare counts a version of the facts if they differ from those before, and reports whether they do.
func (it *item) compare(o plan.Observed) (differ bool) {
	f := it.facts()
	it.status = statusOf(o)
	fingerprint := f.fingerprint(o)
	if fingerprint != "" && fingerprint == it.fingerprint {
		return false
	}
	it.fingerprint = fingerprint
	it.version++
	return true
}

// changeKey makes a step of the external with a key, if it is known. The function gets the version of the facts.
func (c *component) changeKey(key manifests.Key, f func(t *step, version string)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if it := c.items[key]; it != nil {
		c.make(it, func(t *step) { f(t, it.resourceVersion()) })
	}
}

// factsAfter makes a step of the external with a key, and returns the facts after it. They are nil if the external is
// not known.
func (c *component) factsAfter(key manifests.Key, f func(t *step)) *plan.Observed {
	c.mu.Lock()
	defer c.mu.Unlock()
	it := c.items[key]
	if it == nil {
		return nil
	}
	c.make(it, f)
	o := it.facts().current()
	it.compare(o)
	o.ResourceVersion = it.resourceVersion()
	return &o
}

// resourceVersion identifies the current facts.
func (it *item) resourceVersion() string { return fmt.Sprintf("x%d", it.version) }

func (c *component) adopt(record *externalstate.Record) {
	states, damaged := record.States(), record.Damaged()
	// Items that are entered later do not look into the record.
	known := slices.AppendSeq(slices.Collect(maps.Keys(states)), maps.Keys(damaged))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.enter(known)
	for key, it := range c.items {
		var state *externalstate.State
		if recorded, found := states[key]; found {
			state = &recorded
		}
		damage := ""
		if d, found := damaged[key]; found {
			damage = d.String()
		}
		c.make(it, func(t *step) {
			t.adopt(state, damage)
			t.compare = it.fingerprint != ""
		})
	}
}

const (
	// gathering is the time in which results are gathered that are stored with one request.
	gathering = 50 * time.Millisecond
	// maxRecording is the maximum time for the attempts to store a result after the operator is told to stop.
	maxRecording = 10 * time.Second
)

// flush stores the results of calls, until it succeeds, or until some time after the operator is told to stop.
func (c *component) flush(delay time.Duration) {
	ctx, cancel := c.manager.outliving(maxRecording)
	defer cancel()
	for attempt := 1; ; attempt++ {
		c.manager.pause(ctx, delay)
		if c.flushOnce(ctx) || ctx.Err() != nil {
			return
		}
		delay = callRetries.After(attempt)
	}
}

// flushOnce stores the results that are there, and reports whether no more are left.
func (c *component) flushOnce(ctx context.Context) (done bool) {
	c.stored.Lock()
	defer c.stored.Unlock()
	if err := c.stored.load(ctx); err != nil {
		c.tellUnsaved(ctx, err)
		return false
	}
	results, changes := c.resultsToRecord()
	if err := c.stored.write(ctx, changes); err != nil {
		c.tellUnsaved(ctx, err)
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for it, r := range results {
		delete(c.results, it)
		_, isRecorded := changes[it.situation.wanted.key]
		c.make(it, func(t *step) {
			t.s.underway.saving, t.s.underway.unsaved = false, ""
			if isRecorded && r.recorded != nil {
				r.recorded(t)
			}
			c.stored.mayFree(t.freed)
			// An observation that was due during the write was not made.
			t.pollAt(t.s.now.Add(t.s.wanted.info().Poll))
			t.compare = true
		})
	}
	c.flushing = len(c.results) > 0
	return !c.flushing
}

// tellUnsaved enters the error of an attempt to store results, so that the status of the component contains it.
func (c *component) tellUnsaved(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for it := range c.results {
		c.make(it, func(t *step) {
			t.s.underway.unsaved = apierror.StableText(err)
			t.compare = true
		})
	}
}

// resultsToRecord returns the results that are not stored yet, and the states with them.
func (c *component) resultsToRecord() (map[*item]callResult, map[manifests.Key]*externalstate.State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changes := map[manifests.Key]*externalstate.State{}
	for it, r := range c.results {
		if next := it.situation.stateToRecord(r); next != nil {
			changes[it.situation.wanted.key] = next
		}
	}
	return maps.Clone(c.results), changes
}

// count adds the numbers of externals, by kind and state. Externals that are deleted or released are not counted.
func (c *component) count(counts map[string]map[Status]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, it := range c.items {
		if it.situation.isDone() || it.status == "" {
			continue
		}
		if counts[key.Kind] == nil {
			counts[key.Kind] = map[Status]int{}
		}
		counts[key.Kind][it.status]++
	}
}

func (c *component) takeFinished() []action {
	c.mu.Lock()
	defer c.mu.Unlock()
	finished := c.finished
	c.finished = nil
	return finished
}

// isNewRequest notes the value of the annotation that requests a pass, and reports whether somebody has requested one
// since the last pass.
func (c *component) isNewRequest(value string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	previous := c.requested
	c.requested = &value
	return previous != nil && value != "" && value != *previous
}

// resume permits polls again.
func (c *component) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = false
}

// stop ends the polls, and starts no more passes.
func (c *component) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	for _, it := range c.items {
		c.manager.polls.remove(it)
		c.make(it, func(t *step) { t.s.wanted.account = accountKey{} })
	}
}
