package externals

import (
	"errors"
	"fmt"

	"github.com/fairlead-io/fairlead/pkg/component/internal/externalstate"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// action is an action of the plan. trigger identifies the state of the component that it was planned for.
type action struct {
	plan.Action

	trigger string
}

func (a action) digest() string {
	if a.Object == nil {
		return ""
	}
	return a.Object.Digest
}

// run begins an action whose state is stored. It returns nil if the external is observed instead, because the action
// cannot begin.
func (a action) run(t *step) *plan.Result {
	s := &t.s
	if a.Object != nil && isBound(a.Object) {
		object := *a.Object
		s.wanted.desired = &object
	}
	switch a.Verb {
	case plan.VerbCreate:
		if err := a.checkCreate(t); err != nil {
			return a.invalid(fmt.Errorf("create: %w", err))
		}
		a.create(t)
		return a.started()
	case plan.VerbApply, plan.VerbReplace:
		return a.runUpdate(t)
	case plan.VerbDelete:
		if s.recorded.isOwnDeletion() {
			a.remove(t)
			return a.started()
		}
	case plan.VerbOrphan:
		t.event = releasedEvent(s)
		return &plan.Result{Verb: a.Verb, Observed: &plan.Observed{Presence: plan.Present, UID: a.Preconditions.UID}}
	case plan.VerbRead, plan.VerbCreateNamespace, plan.VerbTryDelete, plan.VerbGuard, plan.VerbProbe, plan.VerbUnguard:
	}
	return nil
}

func (a action) started() *plan.Result { return &plan.Result{Verb: a.Verb, Started: true} }

func (a action) invalid(err error) *plan.Result {
	f := plan.Failure{Class: plan.Terminal, Reason: plan.WaitInvalid, Message: err.Error()}
	return &plan.Result{Verb: a.Verb, Failure: &f}
}

// checkCreate checks the recorded manifest, and notes the id that its kind knows before.
func (action) checkCreate(t *step) error {
	s := &t.s
	if s.recorded.last().Intent != externalstate.IntentCreate {
		return errors.New("its intent is not stored")
	}
	findings := s.wanted.driver.Check(s.request(s.recorded.applied()))
	if findings.Invalid == nil && findings.ID != "" {
		s.wanted.knownID = findings.ID
	}
	return findings.Invalid
}

// runUpdate begins an update, unless the change needs no call.
func (a action) runUpdate(t *step) *plan.Result {
	s := &t.s
	manifest := manifestOf(a.Object)
	if manifest == nil || s.recorded.state == nil {
		return nil
	}
	request := s.request(manifest)
	findings := s.wanted.driver.Check(request)
	if findings.Invalid != nil {
		return a.invalid(findings.Invalid)
	}
	// The manifest of an adopted external is stored, but was not applied.
	same := string(request.Spec) == string(request.Applied) && !a.Reason.Adopts()
	if len(findings.Immutable) > 0 && !same && s.observed.immutableOf != a.Object.Digest {
		s.observed.immutable, s.observed.immutableOf = findings.Immutable, a.Object.Digest
		return nil
	}
	c := &call{
		method: MethodUpdate, action: a, manifest: manifest, request: request,
		window: window{s.now, max(s.wanted.width(), minUpdateWindow)},
	}
	differs := s.observed.answer != nil && s.observed.answer.Differs != ""
	if same && !a.Forced && !differs || !s.wanted.info().Updates {
		c.applied(t, nil)
	} else {
		c.begin(t)
	}
	return a.started()
}

// create begins the call Create. The intent is stored.
func (a action) create(t *step) {
	s := &t.s
	c := &call{
		method: MethodCreate, action: a, base: s.recorded.state, window: s.createWindow(),
		request: s.request(s.recorded.applied()),
	}
	c.request.ID = ""
	s.underway.repeated, s.underway.sent = s.underway.sent, true
	s.observed.missing, s.observed.failed = absence{}, nil
	c.begin(t)
}

// remove begins the call Delete. The intent is stored.
func (a action) remove(t *step) {
	s := &t.s
	c := &call{
		method: MethodDelete, request: s.request(s.recorded.applied()),
		window: window{s.recorded.attempts.ownAt, s.wanted.width()},
	}
	c.action.Action = plan.Action{Verb: plan.VerbDelete, Key: s.wanted.key, Wave: a.Wave, Reason: a.Reason}
	c.begin(t)
}

// resume continues what an earlier pass or process began: a deletion, a create whose effect is not known, observations.
func (p *SessionInput) resume(t *step) {
	s := &t.s
	if s.isBlocked() || s.wanted.account == (accountKey{}) {
		return
	}
	a := action{trigger: p.Trigger}
	switch {
	case s.mayDelete():
		a.Wave, a.Reason = s.recorded.entry.EffectiveDeleteOrder(), plan.ReasonDeleted
		a.remove(t)
	case s.mayRepeat():
		a.Verb, a.Key, a.Reason, a.Object = plan.VerbCreate, s.wanted.key, plan.ReasonNew, s.wanted.desired
		a.create(t)
	case !s.canAsk():
	case !s.observed.asked, s.isJustClaimed():
		t.pollAt(s.now)
	default:
		t.resume = true
	}
}

// finish notes the end of an action, for the next pass.
func (a action) finish(t *step) { t.finished, t.wake = &a, true }

// isCurrent reports whether an action that ended was about the desired manifest, for a pass with the given trigger.
func (a action) isCurrent(s *situation, trigger string) bool {
	desired := s.wanted.desired
	return desired != nil && desired.Digest == a.digest() && a.trigger == trigger && a.Verb != plan.VerbDelete
}
