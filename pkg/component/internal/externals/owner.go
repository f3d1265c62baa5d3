package externals

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/externalstate"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// owner has the externals of one component.
type owner struct {
	manager *Manager
	owner   manifests.Owner
	name    types.NamespacedName

	// recording serialises the requests that record states. It is locked before mu.
	recording sync.Mutex

	mu sync.Mutex
	// record are the recorded states as they were read or written last. If current is not set, they must be read again.
	record  *externalstate.Record
	current bool
	items   map[manifests.Key]*item
	// secrets are the contents of the references; held are the names of the Secrets that have our finalizer,
	// and released those that lost it.
	secrets        map[metav1alpha1.Reference]secret
	held, released []string
	component      client.Object
	// results are the results of calls that are not recorded yet, and flushing is set while they are being recorded.
	results  map[manifests.Key]result
	flushing bool
	// finished are the actions that ended since the last pass.
	finished []finishedAction
	// stopped is set after Forget and Pause.
	stopped bool
	demand  demand
}

// secret is the content of a reference.
type secret struct {
	data map[string][]byte
	// missing says why there is no content.
	missing string
}

// result is the result of a call, to be recorded.
type result struct {
	// change returns the new state, nil to remove it.
	change func(externalstate.State) *externalstate.State
	token  string
	// base, if set, is the state that is changed if the recorded one was lost meanwhile: only this process knows the
	// result of a create.
	base *externalstate.State
	// done is called, with the lock, after the state is recorded.
	done func()
}

// finishedAction is an action that ended.
type finishedAction struct {
	change  outcome.Change
	verb    plan.Verb
	digest  string
	trigger string
}

func (o *owner) wake() {
	if !o.stopped {
		o.manager.options.Wake(o.name)
	}
}

// wakeAt wakes the component at a time, if a condition holds then.
func (o *owner) wakeAt(at time.Time, condition func() bool) {
	timer := o.manager.options.Clock.NewTimer(max(0, at.Sub(o.manager.now())))
	go func() {
		defer timer.Stop()
		select {
		case <-timer.C():
			o.mu.Lock()
			defer o.mu.Unlock()
			if condition() {
				o.wake()
			}
		case <-o.manager.lifetime.Done():
		}
	}()
}

// stop ends the polls.
func (o *owner) stop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stopped = true
	for _, it := range o.items {
		o.manager.polls.remove(it)
		it.leaveAccount()
	}
}

// load reads the recorded states, if they are not known. The caller holds recording.
func (o *owner) load(ctx context.Context) error {
	o.mu.Lock()
	current, last := o.current, o.record
	o.mu.Unlock()
	if current {
		return nil
	}
	record, err := o.manager.options.States.Load(ctx, o.owner, last)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.adopt(record)
	return nil
}

// reload reads the recorded states again if one of them is older than the inventory: another process may have written
// them since they were read. It reports whether it has read them. The caller holds recording.
func (o *owner) reload(ctx context.Context) (bool, error) {
	o.mu.Lock()
	for _, it := range o.items {
		if it.damaged == olderVersion {
			o.current = false
		}
	}
	current := o.current
	o.mu.Unlock()
	return !current, o.load(ctx)
}

// adopt enters recorded states into the items. The caller holds the lock.
func (o *owner) adopt(record *externalstate.Record) {
	o.record, o.current = record, true
	states, damaged := record.States(), record.Damaged()
	for key := range states {
		o.item(key)
	}
	for key := range damaged {
		o.item(key) // Items that are entered later do not look into the record.
	}
	for key, it := range o.items {
		var state *externalstate.State
		if recorded, found := states[key]; found {
			state = &recorded
		}
		damage := ""
		if d, found := damaged[key]; found {
			damage = d.String()
		}
		it.adopt(state, damage)
	}
}

// adopt enters the recorded state. The caller holds the lock of the owner.
func (it *item) adopt(state *externalstate.State, damaged string) {
	former, before := it.state, it.creation()
	it.state, it.damaged = state, damaged
	it.compare(before)
	if former != nil && it.state != nil && it.state.Attempts != former.Attempts {
		// The answers say nothing about another attempt.
		it.answer, it.missing, it.unobserved, it.sent = nil, absence{}, nil, false
	}
	if it.state != nil && (it.state.Intent != externalstate.IntentCreate || it.state.ID != "") {
		it.sent = false
	}
	it.suspect()
	if it.fingerprint != "" {
		it.changed()
	}
}

// forgetAnswers forgets what the calls for a former token answered.
func (it *item) forgetAnswers() {
	it.answer, it.missing, it.unobserved, it.deleteSent, it.sent = nil, absence{}, nil, false, false
	it.failures, it.createError, it.rejection = nil, "", ""
}

// item returns the item with the given key. The caller holds the lock.
func (o *owner) item(key manifests.Key) *item {
	if o.items[key] == nil {
		it := &item{owner: o, key: key}
		it.poll = poll{item: it, index: -1}
		o.items[key] = it
	}
	return o.items[key]
}

// write records changes of states. After a conflict the states are loaded again by the next pass. The caller holds
// recording.
func (o *owner) write(ctx context.Context, changes map[manifests.Key]*externalstate.State) error {
	o.mu.Lock()
	record := o.record
	o.mu.Unlock()
	written, err := o.manager.options.States.Write(ctx, o.owner, record, changes)
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		o.current = false
		return err
	}
	o.adopt(written)
	return nil
}

// later records the result of a call. Results that arrive together are recorded together, unless one of them is urgent.
// The caller holds the lock.
func (o *owner) later(it *item, urgent bool, r result) {
	if o.results == nil {
		o.results = map[manifests.Key]result{}
	}
	o.results[it.key] = r
	it.saving = true
	if o.flushing {
		return
	}
	o.flushing = true
	delay := gathering
	if urgent {
		delay = 0
	}
	o.manager.calls.Go(func() { o.flush(delay) })
}

const (
	// gathering is the time in which results are gathered that are recorded with one request.
	gathering = 50 * time.Millisecond
	// maxRecording is the maximum time for the attempts to record a result after the operator is told to stop, and
	// recordingRetry is the maximum time between two of them.
	maxRecording   = 10 * time.Second
	recordingRetry = time.Second
)

// flush records the results of calls, until it succeeds, or until some time after the operator is told to stop.
func (o *owner) flush(delay time.Duration) {
	ctx, cancel := o.manager.outliving(maxRecording)
	defer cancel()
	for attempt := 1; ; attempt++ {
		o.pause(ctx, delay)
		if o.flushOnce(ctx) || ctx.Err() != nil {
			return
		}
		delay = backoff(attempt)
	}
}

// pause waits for a delay, at most until ctx ends. If the operator is told to stop, it waits no longer than for
// recordingRetry.
func (o *owner) pause(ctx context.Context, delay time.Duration) {
	stop := o.manager.lifetime.Done()
	if o.manager.lifetime.Err() != nil {
		stop, delay = nil, min(delay, recordingRetry)
	}
	timer := o.manager.options.Clock.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-stop:
	case <-ctx.Done():
	}
}

// flushOnce records the results that are there, and reports whether no more are left.
func (o *owner) flushOnce(ctx context.Context) (done bool) {
	o.recording.Lock()
	defer o.recording.Unlock()
	if err := o.load(ctx); err != nil {
		return false
	}
	o.mu.Lock()
	results := maps.Clone(o.results)
	changes := map[manifests.Key]*externalstate.State{}
	for key, r := range results {
		switch it := o.items[key]; {
		case it == nil:
		case it.state != nil && it.damaged == "" && it.state.Token == r.token:
			changes[key] = r.change(*it.state)
		case it.isLost() && r.base != nil:
			changes[key] = r.change(*r.base)
		}
	}
	o.mu.Unlock()
	if len(changes) > 0 {
		if err := o.write(ctx, changes); err != nil {
			return false
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for key, r := range results {
		delete(o.results, key)
		if it := o.items[key]; it != nil {
			it.saving = false
			if _, recorded := changes[key]; recorded && r.done != nil {
				r.done()
			}
			// An observation that was due during the write was not made.
			it.pollAt(o.manager.now().Add(it.info().Poll))
			it.changed()
		}
	}
	o.flushing = len(o.results) > 0
	return !o.flushing
}

// contentsOf returns the contents of references. The caller holds the lock.
func (o *owner) contentsOf(refs []metav1alpha1.Reference) generator.References {
	if len(refs) == 0 {
		return nil
	}
	found := generator.References{}
	for _, ref := range refs {
		if s, known := o.secrets[ref]; known && s.missing == "" {
			found[generator.Reference{Kind: ref.Kind, Namespace: o.name.Namespace, Name: ref.Name}] = s.data
		}
	}
	return found
}

// missing returns the reasons why references have no content. The caller holds the lock.
func (o *owner) missing(refs []metav1alpha1.Reference) []string {
	var missing []string
	for _, ref := range refs {
		if s, known := o.secrets[ref]; !known || s.missing != "" {
			missing = append(missing, s.missing)
		}
	}
	slices.Sort(missing)
	return slices.Compact(missing)
}

// digestOfReferences identifies the contents of references.
func digestOfReferences(all ...generator.References) string {
	type content struct {
		Reference generator.Reference
		Data      map[string][]byte
	}
	var contents []content
	for _, refs := range all {
		for ref, data := range refs {
			// The names are no part of the digest: equal credentials are the same account.
			contents = append(contents, content{generator.Reference{Kind: ref.Kind}, data})
		}
	}
	texts := make([]string, 0, len(contents))
	for _, c := range contents {
		text, err := json.Marshal([]any{c.Reference.Kind, c.Data})
		if err == nil {
			texts = append(texts, string(text))
		}
	}
	slices.Sort(texts)
	data, _ := json.Marshal(texts)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// use replaces the account of an item. The caller holds the lock of the owner.
func (it *item) use(key accountKey) {
	if it.account != nil && it.account.key == key {
		return
	}
	former := it.account
	it.account = it.owner.manager.use(key)
	if former != nil {
		former.release()
	}
}

// leaveAccount leaves an item without an account. The caller holds the lock of the owner.
func (it *item) leaveAccount() {
	if it.account != nil {
		it.account.release()
		it.account = nil
	}
}

// wasReleased reports whether this process removed the finalizer from a Secret.
func (o *owner) wasReleased(name string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Contains(o.released, name)
}
