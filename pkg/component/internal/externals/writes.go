package externals

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/component/internal/externalstate"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// begin begins a call that writes, if it can be made in its window.
func (c *call) begin(t *step) {
	c.driver = t.s.wanted.driver
	u := &t.s.underway
	u.writes++
	u.verb, u.since = c.action.Verb, t.s.now
	t.call, t.compare = c, true
}

// refused ends a call that did not begin in its window. The next pass decides again.
func (c *call) refused(t *step) {
	s := &t.s
	if c.method == MethodCreate && s.recorded.attempt() == (intent{c.base.Token, c.base.Attempts, false}) {
		// This process wrote the entry of the inventory, and knows that it did not call Create.
		s.underway.sent, s.recorded.attempts.own.recorded = s.underway.repeated, true
	}
	s.underway.verb = ""
	t.pollAt(s.now)
	t.compare, t.wake = true, true
}

// ended enters the result of a call that writes.
func (c *call) ended(t *step, answer external.Answer, err error) {
	u := &t.s.underway
	u.verb, u.lastWriteEnds = "", t.s.now
	if c.method == MethodDelete && errors.Is(err, external.ErrNotFound) {
		err = nil
	}
	switch {
	case c.method == MethodCreate:
		c.created(t, answer, err)
		return
	case err != nil:
		f, after := failureOf(c.method, err)
		t.fail(c.action.Verb, f, after, c.action.digest())
		if c.method == MethodUpdate {
			t.pollAt(t.s.now)
		}
	case c.method == MethodUpdate:
		u.failures = nil
		c.applied(t, &answer)
		return
	default:
		u.failures, u.deleteSent, t.s.observed.missing = nil, true, absence{}
		c.action.finish(t)
		t.pollAt(t.s.now)
	}
	t.compare = true
}

func (c *call) created(t *step, answer external.Answer, err error) {
	s := &t.s
	if answer.ID == "" {
		answer.ID = s.wanted.knownID
	}
	if errors.Is(err, external.ErrExists) {
		s.observed.existing = answer.ID
	}
	if err == nil && answer.ID == "" {
		err = errors.New("the handler returned no id, and the kind is no Identifier")
	}
	if err != nil {
		c.notCreated(t, err)
		t.compare = true
		return
	}
	s.underway.failures, s.underway.createError, s.observed.missing = nil, "", absence{}
	t.record(callResult{
		token: c.base.Token, base: c.base, urgent: !s.wanted.info().Identifies && !s.wanted.info().Finds,
		change: func(s *externalstate.State) {
			s.ID, s.Data, s.Intent = answer.ID, answer.State, externalstate.IntentNone
		},
		recorded: func(t *step) {
			t.s.underway.sent = false
			if answer.Observed != nil {
				t.seen(answer)
				c.verify(t)
			} else {
				t.pollAt(t.s.now)
			}
			c.action.finish(t)
		},
	})
}

func (c *call) notCreated(t *step, err error) {
	s, digest := &t.s, c.action.digest()
	f, after := failureOf(MethodCreate, err)
	s.underway.createError = f.Message
	_, refused := errors.AsType[*external.RefusedError](err)
	exists := errors.Is(err, external.ErrExists)
	switch {
	case s.underway.repeated && (exists || refused):
		// The answer says nothing about the effect of the attempt before.
		t.fail(plan.VerbCreate, f, after, digest)
		t.pollAt(s.underway.lastWriteEnds)
	case exists && s.id() != "":
		// The next observation shows the existing external, and the adoption policy decides.
		t.withoutEffect()
	case exists:
		f.Class = plan.Terminal
		f.Message += fmt.Sprintf("; set the annotation %s to adopt it", s.wanted.owner.Reconciler+"/external-id")
		t.withoutEffect()
		t.fail(plan.VerbCreate, f, terminalRetry, digest)
	case refused:
		t.withoutEffect()
		t.fail(plan.VerbCreate, f, after, digest)
	case s.mayRepeat():
		t.fail(plan.VerbCreate, f, after, digest)
	default:
		s.observed.failed = &failed{failure: f, attempts: 1}
		if s.canAsk() {
			// If the next observations show that nothing was created, Create is repeated after the back-off.
			t.fail(plan.VerbCreate, f, after, digest)
		}
		t.pollAt(s.underway.lastWriteEnds)
	}
}

// applied stores the manifest of an update. answer is nil if no call was needed.
func (c *call) applied(t *step, answer *external.Answer) {
	previous := secretNames(t.s.recorded.last().References)
	t.record(callResult{
		token: c.request.Token,
		change: func(s *externalstate.State) {
			if text, err := json.Marshal(c.manifest); err == nil {
				s.Manifest = text
			}
			s.References = referencesIn(c.manifest)
		},
		recorded: func(t *step) {
			t.freed = previous // The next pass releases the Secrets that no external needs any more.
			if answer != nil {
				t.seen(*answer)
			}
			c.verify(t)
			c.action.finish(t)
		},
	})
}

// verify observes an external that was written, and differs from its manifest, as soon as it must show the write.
func (c *call) verify(t *step) {
	o, info := &t.s.observed, t.s.wanted.info()
	if o.unverified = o.answer != nil && o.answer.Differs != ""; o.unverified {
		t.pollAt(t.s.now.Add(min(info.Settle, info.Poll)))
	}
}
