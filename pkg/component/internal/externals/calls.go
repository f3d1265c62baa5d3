package externals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/component/internal/externalstate"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// begin begins a call that writes, if it can be made in its window. The caller holds the lock.
func (it *item) begin(method Method, verb plan.Verb, w window, run func(ctx context.Context)) {
	it.writes++
	it.writing = &underway{verb: verb, since: it.owner.manager.now()}
	it.changed()
	before := it.attempt()
	it.account.enqueue(&call{method: method, run: run, window: w, refuse: func() {
		it.owner.mu.Lock()
		defer it.owner.mu.Unlock()
		if method == MethodCreate && it.attempt() == before {
			// This process recorded the entry of the inventory, and knows that it did not call Create.
			it.sent, it.ownIntent.recorded = it.repeated, true
		}
		it.tooLate()
	}})
}

// create begins the call Create. The intent is recorded. The caller holds the lock.
func (it *item) create(a plan.Action, trigger string) {
	request, driver, base := it.request(it.applied()), it.driver, *it.state
	request.ID = ""
	w := it.createWindow()
	it.repeated, it.sent, it.missing, it.unobserved = it.sent, true, absence{}, nil
	it.begin(MethodCreate, plan.VerbCreate, w, func(ctx context.Context) {
		ctx, ended := it.monitor(ctx, MethodCreate)
		answer, err := guard(func() (external.Answer, error) { return driver.Create(ctx, request) })
		ended(err)
		it.owner.mu.Lock()
		defer it.owner.mu.Unlock()
		it.created(a, trigger, base, answer, err)
	})
}

// created enters the result of Create. base is the state that was recorded before the call. The caller holds the lock.
func (it *item) created(
	a plan.Action, trigger string, base externalstate.State, answer external.Answer, err error,
) {
	it.ended()
	if answer.ID == "" {
		answer.ID = it.knownID
	}
	if errors.Is(err, external.ErrExists) {
		it.existing = answer.ID
	}
	if err == nil && answer.ID == "" {
		err = errors.New("the handler returned no id, and the kind is no Identifier")
	}
	if err != nil {
		it.createFailed(err, digestOf(a))
		it.changed()
		return
	}
	it.failures, it.missing, it.createError = nil, absence{}, ""
	urgent := !it.info().Identifies && !it.info().Finds
	it.owner.later(it, urgent, result{
		token: base.Token, base: &base,
		change: func(s externalstate.State) *externalstate.State {
			s.ID, s.Data, s.Intent = answer.ID, answer.State, externalstate.IntentNone
			return &s
		},
		done: func() {
			it.sent = false
			if answer.Observed != nil {
				it.seen(answer, it.owner.manager.now())
				it.verify()
			} else {
				it.pollAt(it.owner.manager.now())
			}
			it.finish(a, trigger)
		},
	})
}

// createFailed enters the failure of Create.
func (it *item) createFailed(err error, digest string) {
	f, after := failureOf(MethodCreate, err)
	it.createError = f.Message
	_, refused := errors.AsType[*external.RefusedError](err)
	exists := errors.Is(err, external.ErrExists)
	switch {
	case it.repeated && (exists || refused):
		// The answer says nothing about the effect of the attempt before.
		it.fail(plan.VerbCreate, f, after, digest)
		it.pollAt(it.written)
	case exists && it.id() != "":
		// The next observation shows the existing external, and the adoption policy decides.
		it.notCreated()
	case exists:
		f.Class = plan.Terminal
		f.Message += fmt.Sprintf("; set the annotation %s to adopt it", it.owner.owner.Reconciler+"/external-id")
		it.notCreated()
		it.fail(plan.VerbCreate, f, terminalRetry, digest)
	case refused:
		it.notCreated()
		it.fail(plan.VerbCreate, f, after, digest)
	case it.mayRepeat():
		it.fail(plan.VerbCreate, f, after, digest)
	default:
		it.unobserved = &failed{failure: f, attempts: 1}
		if it.canAsk() {
			// If the next observations show that nothing was created, Create is repeated after the back-off.
			it.fail(plan.VerbCreate, f, after, digest)
		}
		it.pollAt(it.written)
	}
}

// notCreated records that Create had no effect, so that a later process is not uncertain. A kind that can find out by
// itself needs no record.
func (it *item) notCreated() {
	it.sent = false
	it.answer = nil
	if it.state == nil || it.state.Intent != externalstate.IntentCreate || it.damaged != "" {
		return
	}
	attempts := it.state.Attempts
	it.owner.later(it, false, result{token: it.state.Token, change: func(s externalstate.State) *externalstate.State {
		// Meanwhile another process may have begun another attempt.
		if s.Attempts == attempts {
			s.Intent = externalstate.IntentNone
		}
		return &s
	}})
	it.pollAt(it.owner.manager.now())
}

// identified records the id of an external whose creation was uncertain, or whose state was lost. The caller holds the
// lock.
func (it *item) identified(id string) {
	if it.state == nil || it.damaged != "" {
		it.owner.restore(it, id)
		return
	}
	it.owner.later(it, false, result{
		token: it.state.Token,
		change: func(s externalstate.State) *externalstate.State {
			s.ID, s.Intent = id, externalstate.IntentNone
			return &s
		},
		done: func() {
			it.sent, it.missing = false, absence{}
			delete(it.failures, plan.VerbCreate)
			it.pollAt(it.owner.manager.now())
		},
	})
}

// update begins the call Update. The caller holds the lock.
func (it *item) update(a plan.Action, trigger string, manifest map[string]any) {
	request, driver := it.request(manifest), it.driver
	w := window{it.owner.manager.now(), max(it.width(), minUpdateWindow)}
	it.begin(MethodUpdate, a.Verb, w, func(ctx context.Context) {
		ctx, ended := it.monitor(ctx, MethodUpdate)
		answer, err := guard(func() (external.Answer, error) { return driver.Update(ctx, request) })
		ended(err)
		it.owner.mu.Lock()
		defer it.owner.mu.Unlock()
		it.ended()
		if err != nil {
			f, after := failureOf(MethodUpdate, err)
			it.fail(a.Verb, f, after, digestOf(a))
			it.pollAt(it.owner.manager.now())
			it.changed()
			return
		}
		it.failures = nil
		it.recordApplied(a, trigger, appliedManifest{request.Token, manifest}, &answer)
	})
}

// appliedManifest is a manifest that was applied to the external with a token.
type appliedManifest struct {
	token    string
	manifest map[string]any
}

// recordApplied records the manifest that was applied. answer is nil if no call was needed. The caller holds the lock.
func (it *item) recordApplied(a plan.Action, trigger string, applied appliedManifest, answer *external.Answer) {
	var former []string
	if it.state != nil {
		former = secretNames(it.state.References)
	}
	it.owner.later(it, false, result{
		token: applied.token,
		change: func(s externalstate.State) *externalstate.State {
			if text, err := json.Marshal(applied.manifest); err == nil {
				s.Manifest = text
			}
			s.References, _ = manifests.ExternalReferences(&unstructured.Unstructured{Object: applied.manifest})
			return &s
		},
		done: func() {
			// The next pass releases the Secrets that no external needs any more.
			for _, name := range former {
				if !slices.Contains(it.owner.held, name) {
					it.owner.held = append(it.owner.held, name)
				}
			}
			if answer != nil {
				it.seen(*answer, it.owner.manager.now())
			}
			it.verify()
			it.finish(a, trigger)
		},
	})
}

// verify observes an external that was written, and differs from its manifest, as soon as it must show the write. The
// caller holds the lock.
func (it *item) verify() {
	if it.unverified = it.answer != nil && it.answer.Differs != ""; !it.unverified {
		return
	}
	it.pollAt(it.owner.manager.now().Add(min(it.info().Settle, it.info().Poll)))
}

// remove begins the call Delete. The intent is recorded. The caller holds the lock.
func (it *item) remove(wave int, reason plan.Reason) {
	request, driver := it.request(it.applied()), it.driver
	w := window{it.recordedAt, it.width()}
	it.begin(MethodDelete, plan.VerbDelete, w, func(ctx context.Context) {
		ctx, ended := it.monitor(ctx, MethodDelete)
		_, err := guard(func() (struct{}, error) { return struct{}{}, driver.Delete(ctx, request) })
		ended(err)
		it.owner.mu.Lock()
		defer it.owner.mu.Unlock()
		it.ended()
		if err != nil && !errors.Is(err, external.ErrNotFound) {
			f, after := failureOf(MethodDelete, err)
			it.fail(plan.VerbDelete, f, after, "")
			it.changed()
			return
		}
		it.failures, it.deleteSent, it.missing = nil, true, absence{}
		it.finish(plan.Action{Verb: plan.VerbDelete, Key: it.key, Wave: wave, Reason: reason}, "")
		it.pollAt(it.owner.manager.now())
		it.changed()
	})
}

// gone records that the external is deleted. The key stays until the entry of the inventory is dropped.
func (it *item) gone() {
	it.owner.later(it, false, result{
		token: it.state.Token,
		change: func(s externalstate.State) *externalstate.State {
			s.Gone = true
			return &s
		},
		done: func() { it.answer = nil },
	})
}

// ended notes the end of a call that writes.
func (it *item) ended() {
	it.writing, it.written = nil, it.owner.manager.now()
}

// finish notes the end of an action, for the next pass.
func (it *item) finish(a plan.Action, trigger string) {
	done := finishedAction{change: outcome.ChangeOf(a), verb: a.Verb, trigger: trigger, digest: digestOf(a)}
	it.owner.finished = append(it.owner.finished, done)
	it.owner.wake()
}

func digestOf(a plan.Action) string {
	if a.Object == nil {
		return ""
	}
	return a.Object.Digest
}
