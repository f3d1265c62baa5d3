package externals

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/fairlead-io/fairlead/pkg/component/internal/externalstate"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// start begins the observations of items that have not answered yet, and continues deletions. The caller holds the
// lock.
func (s *Session) start() {
	o := s.owner
	now := o.manager.now()
	for _, it := range o.items {
		if _, blocked := it.blocked(); blocked || it.account == nil {
			continue
		}
		switch {
		case it.mayDelete():
			it.remove(it.entry.EffectiveDeleteOrder(), plan.ReasonDeleted)
		case it.mayRepeat():
			again := plan.Action{Verb: plan.VerbCreate, Key: it.key, Reason: plan.ReasonNew, Object: it.desired}
			it.create(again, s.pass.Trigger)
		case it.canAsk() && (!it.asked || it.isJustClaimed() || !o.manager.polls.isScheduled(it)):
			it.pollAt(now)
		}
	}
}

// Run implements applier.Externals.
func (s *Session) Run(_ context.Context, actions []plan.Action) []plan.Result {
	s.owner.mu.Lock()
	defer s.owner.mu.Unlock()
	results := make([]plan.Result, len(actions))
	for i, a := range actions {
		results[i] = s.run(a)
	}
	return results
}

// run begins one action. The caller holds the lock.
func (s *Session) run(a plan.Action) plan.Result {
	it := s.owner.items[a.Key]
	if it == nil || !it.canAct() || !s.prepared[a.Key] {
		return s.read(it)
	}
	if a.Object != nil && isBound(a.Object) {
		object := *a.Object
		it.desired = &object
	}
	var err error
	switch a.Verb {
	case plan.VerbCreate:
		err = s.runCreate(it, a)
	case plan.VerbApply, plan.VerbReplace:
		return s.runUpdate(it, a)
	case plan.VerbDelete:
		if !it.isOwnDeletion() {
			return s.read(it)
		}
		it.remove(a.Wave, a.Reason)
	case plan.VerbOrphan:
		s.owner.manager.options.Tell(s.owner.name, "ExternalReleased",
			fmt.Sprintf("%s is left in place: id %q", it.key, cmp.Or(it.recordedID(), it.id())))
		return plan.Result{Verb: a.Verb, Observed: &plan.Observed{Presence: plan.Present, UID: a.Preconditions.UID}}
	case plan.VerbRead, plan.VerbCreateNamespace, plan.VerbTryDelete, plan.VerbGuard, plan.VerbProbe, plan.VerbUnguard:
		return s.read(it)
	}
	if err != nil {
		f, _ := failureOf(MethodCreate, err)
		f.Class, f.Reason = plan.Terminal, plan.WaitInvalid
		return plan.Result{Verb: a.Verb, Failure: &f}
	}
	return plan.Result{Verb: a.Verb, Started: true, Observed: it.facts()}
}

// read returns the current facts, in place of an action that cannot begin.
func (s *Session) read(it *item) plan.Result {
	if it == nil {
		return plan.Result{Verb: plan.VerbRead, Observed: new(plan.NotObserved())}
	}
	return plan.Result{Verb: plan.VerbRead, Observed: it.facts()}
}

func (s *Session) runCreate(it *item, a plan.Action) error {
	if it.state == nil || it.state.Intent != externalstate.IntentCreate {
		return errors.New("its intent is not recorded")
	}
	findings := it.driver.Check(it.request(it.applied()))
	if findings.Invalid != nil {
		return findings.Invalid
	}
	if findings.ID != "" {
		it.knownID = findings.ID
	}
	it.create(a, s.pass.Trigger)
	return nil
}

// runUpdate begins an update, unless the change needs no call.
func (s *Session) runUpdate(it *item, a plan.Action) plan.Result {
	whole, err := a.Object.Whole()
	if err != nil || it.state == nil {
		return s.read(it)
	}
	manifest := whole.Body.Object
	request := it.request(manifest)
	findings := it.driver.Check(request)
	if findings.Invalid != nil {
		f := plan.Failure{Class: plan.Terminal, Reason: plan.WaitInvalid, Message: findings.Invalid.Error()}
		return plan.Result{Verb: a.Verb, Failure: &f}
	}
	// The manifest of an adopted external is recorded, but was not applied.
	same := string(request.Spec) == string(request.Applied) && !a.Reason.Adopts()
	if len(findings.Immutable) > 0 && !same && it.immutableOf != a.Object.Digest {
		it.immutable, it.immutableOf = findings.Immutable, a.Object.Digest
		return s.read(it)
	}
	differs := it.answer != nil && it.answer.Differs != ""
	if same && !a.Forced && !differs || !it.info().Updates {
		it.recordApplied(a, s.pass.Trigger, appliedManifest{it.state.Token, manifest}, nil)
		return plan.Result{Verb: a.Verb, Started: true, Observed: it.facts()}
	}
	it.update(a, s.pass.Trigger, manifest)
	return plan.Result{Verb: a.Verb, Started: true, Observed: it.facts()}
}
