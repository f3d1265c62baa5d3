package externals

import (
	"errors"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/component/internal/externalstate"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// do makes an observation with an answer.
func do(s situation, answer external.Answer, err error) *step {
	t := &step{s: s}
	c := t.question()
	t.s.now = s.now
	c.answered(t, answer, err)
	return t
}

// saved returns the state after the result of a step is recorded, and the next step.
func saved(t *testing.T, from *step) (*externalstate.State, *step) {
	t.Helper()
	if from.result == nil {
		t.Fatal("nothing is recorded")
	}
	next := &step{s: from.s}
	recorded := next.s.stateToRecord(*from.result)
	next.adopt(recorded, "")
	next.s.underway.saving = false
	if from.result.recorded != nil {
		from.result.recorded(next)
	}
	return recorded, next
}

// Absence needs proof: two answers, the second one at least the settle time after the first one and after the last
// write.
func TestAnswersThatThereIsNone(t *testing.T) {
	const settle = 5 * time.Second
	for name, tc := range map[string]struct {
		changes   []func(*situation)
		confirmed bool
		// next is the time until the next observation, less a random part.
		next time.Duration
	}{
		"the first one": {changes: []func(*situation){state(created)}, next: settle},
		"a second one within the settle": {
			changes: []func(*situation){state(created), missedBefore(settle - time.Second)}, next: time.Second,
		},
		"a second one after it": {
			changes: []func(*situation){state(created), missedBefore(settle)}, confirmed: true,
		},
		"within the settle after a write": {
			changes: []func(*situation){state(created), wroteBefore(time.Second)}, next: settle - time.Second,
		},
		"about one that was never written": {changes: []func(*situation){knows("4711")}, confirmed: true},
		"while another process may delete it": {
			changes: []func(*situation){state(deletingState), missedBefore(settle), func(s *situation) {
				s.recorded.attempts.foreignUntil = noon.Add(time.Minute)
			}},
			next: time.Minute + settle,
		},
	} {
		t.Run(name, func(t *testing.T) {
			after := do(desiring(t, named, tc.changes...), external.Answer{}, external.ErrNotFound)
			if got := after.s.observed.missing.confirmed; got != tc.confirmed {
				t.Errorf("it is absent: %t", got)
			}
			if got := after.next.Sub(noon); !tc.confirmed && got != tc.next {
				t.Errorf("it is observed again after %s, want %s", got, tc.next)
			}
			if tc.confirmed && after.interval != plain.Poll {
				t.Errorf("it is observed again after %s", after.interval)
			}
		})
	}
}

func missedBefore(d time.Duration) func(*situation) {
	return func(s *situation) { s.observed.missing.first = noon.Add(-d) }
}

func wroteBefore(d time.Duration) func(*situation) {
	return func(s *situation) { s.underway.lastWriteEnds = noon.Add(-d) }
}

func TestAnAnswerEntersTheSituation(t *testing.T) {
	busy := errors.New("busy")
	for name, tc := range map[string]struct {
		info    external.Info
		changes []func(*situation)
		answer  external.Answer
		err     error
		// saves is set if a result is recorded, with the given id and intent.
		saves  bool
		id     string
		intent externalstate.Intent
		next   time.Duration
		wakes  bool
	}{
		"it exists": {changes: []func(*situation){state(created), asked}, next: plain.Poll},
		"it exists, and asks for a time": {
			changes: []func(*situation){state(created), asked}, answer: external.Answer{PollAfter: time.Hour}, next: time.Hour,
		},
		"the first one wakes": {changes: []func(*situation){state(created)}, next: plain.Poll, wakes: true},
		"it failed":           {changes: []func(*situation){state(created), asked}, err: busy, next: callRetries.First},
		"it failed for the third time": {
			changes: []func(*situation){state(created), asked, func(s *situation) { s.observed.failed = &failed{attempts: 2} }},
			err:     busy, next: 4 * callRetries.First,
		},
		"it failed for the third time, and asks for a time": {
			changes: []func(*situation){state(created), asked, func(s *situation) { s.observed.failed = &failed{attempts: 2} }},
			err:     external.RefusedFor(busy, 3*time.Second), next: 3 * time.Second,
		},
		"an uncertain create is found": {
			info: findable, changes: []func(*situation){state(intended), begun, sent, asked},
			answer: external.Answer{ID: "thing-1"},
			saves:  true, id: "thing-1",
		},
		"an uncertain create is observed": {
			info: named, changes: []func(*situation){state(intended), begun, sent, asked, knows("thing-1")},
			answer: external.Answer{Token: first}, saves: true, id: "thing-1",
		},
		"an uncertain create has the token of another owner": {
			info: named, changes: []func(*situation){state(intended), begun, sent, asked, knows("thing-1")},
			answer: external.Answer{Token: second}, saves: true,
		},
		"an uncertain create is not found twice": {
			info: findable, changes: []func(*situation){state(intended), begun, sent, asked, missedBefore(time.Minute)},
			err: external.ErrNotFound, saves: true,
		},
		"the id of a person is right": {
			changes: []func(*situation){state(claimed), begun, asked}, saves: true, id: "thing-1",
		},
		"the id of a person is wrong": {
			changes: []func(*situation){state(claimed), begun, asked, missedBefore(time.Minute)},
			err:     external.ErrNotFound, saves: true, intent: externalstate.IntentCreate,
		},
		"it is being deleted": {
			changes: []func(*situation){state(deletingState), asked}, next: deletionPoll,
		},
		"it exists long after its deletion": {
			changes: []func(*situation){state(deletingState), asked, wroteBefore(time.Minute), func(s *situation) {
				s.underway.deleteSent = true
			}},
			next: deletionPoll, wakes: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			info := tc.info
			if info.Kind == "" {
				info = plain
			}
			after := do(desiring(t, info, tc.changes...), tc.answer, tc.err)
			if after.wake != tc.wakes {
				t.Errorf("wakes: %t", after.wake)
			}
			if tc.saves {
				if got, _ := saved(t, after); got.ID != tc.id || got.Intent != tc.intent || got.Gone {
					t.Errorf("records %+v", got)
				}
			} else if after.result != nil || after.interval != tc.next {
				t.Errorf("result %v, next observation after %s, want %s", after.result, after.interval, tc.next)
			}
		})
	}
}

func asked(s *situation) { s.observed.asked = true }

func TestAnOldAnswerIsNotUsed(t *testing.T) {
	for name, change := range map[string]func(*situation){
		"a call that writes began":       func(s *situation) { s.underway.verb = plan.VerbApply },
		"a result is being recorded":     func(s *situation) { s.underway.saving = true },
		"a call that writes has ended":   func(s *situation) { s.underway.writes++ },
		"the account is another one":     func(s *situation) { s.wanted.account.name = "another" },
		"the external is another one":    func(s *situation) { s.recorded.state.ID = "thing-2" },
		"the external was created again": func(s *situation) { s.recorded.state.Token = second },
	} {
		t.Run(name, func(t *testing.T) {
			s := &step{s: desiring(t, plain, state(created), asked, missedBefore(time.Second))}
			c := s.question()
			change(&s.s)
			c.answered(s, external.Answer{}, nil)
			if s.s.observed.answer != nil || s.next != noon.Add(time.Second) {
				t.Errorf("answer %v, next observation at %s", s.s.observed.answer, s.next)
			}
			if !s.s.observed.missing.first.IsZero() {
				t.Error("it does not end a series of answers that there is none")
			}
		})
	}
}

func TestADelayThatIsAskedForIsNotCountedForTheBackOff(t *testing.T) {
	s := &step{s: desiring(t, plain)}
	for i, c := range []struct {
		asked  time.Duration
		digest string
		want   time.Duration
	}{
		{asked: time.Second, want: time.Second},
		{asked: time.Second, want: time.Second},
		{want: callRetries.First},
		{asked: time.Second, want: time.Second},
		{want: 2 * callRetries.First},
		{digest: "changed", want: callRetries.First},
	} {
		s.fail(plan.VerbCreate, plan.Failure{}, c.asked, c.digest)
		if got := s.s.underway.failures[plan.VerbCreate].until.Sub(noon); got != c.want {
			t.Errorf("failure %d: the call is repeated after %s, want %s", i, got, c.want)
		}
	}
}

func TestAResultOfCreateEntersTheSituation(t *testing.T) {
	refused := external.Refused(errors.New("quota"))
	for name, tc := range map[string]struct {
		info    external.Info
		changes []func(*situation)
		answer  external.Answer
		err     error
		// urgent is set if the result is recorded at once, and id is the recorded id. The intent stays if it is uncertain.
		urgent, saves, uncertain bool
		id                       string
		fails                    bool
	}{
		"created": {
			answer: external.Answer{ID: "thing-1"}, saves: true, urgent: true, id: "thing-1",
		},
		"created, by a kind that finds": {
			info: findable, answer: external.Answer{ID: "thing-1"}, saves: true, id: "thing-1",
		},
		"created, with the id that was known": {
			info: named, changes: []func(*situation){knows("thing-1")}, saves: true, id: "thing-1",
		},
		"created, although the state was lost": {
			changes: []func(*situation){begun}, answer: external.Answer{ID: "thing-1"}, saves: true, urgent: true, id: "thing-1",
		},
		"without an id":                     {uncertain: true},
		"lost":                              {err: errors.New("reset"), uncertain: true},
		"lost, by a kind that finds":        {info: findable, err: errors.New("reset"), uncertain: true, fails: true},
		"lost, by a kind that may repeat":   {info: idempotent, err: errors.New("reset"), uncertain: true, fails: true},
		"refused":                           {err: refused, saves: true, fails: true},
		"refused, after one with no answer": {changes: []func(*situation){sent}, err: refused, uncertain: true, fails: true},
		"it exists":                         {err: external.ErrExists, saves: true, fails: true},
		"it exists, with an id":             {answer: external.Answer{ID: "old"}, err: external.ErrExists, saves: true},
	} {
		t.Run(name, func(t *testing.T) {
			info := tc.info
			if info.Kind == "" {
				info = plain
			}
			before := &step{s: desiring(t, info, append([]func(*situation){state(intended), begun}, tc.changes...)...)}
			action{Action: plan.Action{Verb: plan.VerbCreate, Key: testKey, Object: before.s.wanted.desired}}.create(before)
			if name == "created, although the state was lost" {
				before.s.recorded.state = nil
			}
			after := &step{s: before.s}
			before.call.ended(after, tc.answer, tc.err)
			if !after.s.isIdle() != tc.saves {
				t.Fatalf("records: %t", !after.s.isIdle())
			}
			if after.s.isUncertain() != tc.uncertain {
				t.Errorf("uncertain: %t", after.s.isUncertain())
			}
			if fails := len(after.s.underway.failures) > 0; fails != tc.fails {
				t.Errorf("fails: %t", fails)
			}
			if !tc.saves {
				return
			}
			if after.result.urgent != tc.urgent {
				t.Errorf("urgent: %t", after.result.urgent)
			}
			if got, next := saved(t, after); got.ID != tc.id || got.Intent != externalstate.IntentNone || next.s.underway.sent {
				t.Errorf("records %+v", got)
			}
		})
	}
}

// The result of a refused create is stored after a moment. A pass that begins before reads the intent of the create.
func TestACreateThatHadNoEffectIsNoCreateOfAnotherProcess(t *testing.T) {
	for name, tc := range map[string]struct {
		attempts int
		suspects bool
	}{
		"the own attempt":               {attempts: 1},
		"an attempt of another process": {attempts: 2, suspects: true},
	} {
		t.Run(name, func(t *testing.T) {
			before := &step{s: desiring(t, plain, state(intended), begun)}
			before.s.recorded.attempts.own = intent{first, 1, false}
			action{Action: plan.Action{Verb: plan.VerbCreate, Key: testKey, Object: before.s.wanted.desired}}.create(before)
			after := &step{s: before.s}
			before.call.ended(after, external.Answer{}, external.RefusedFor(errors.New("busy"), time.Second))
			read := *after.s.recorded.state
			read.Attempts = tc.attempts
			after.s.recorded.state = &read
			after.suspectOtherProcess()
			if after.s.underway.sent != tc.suspects {
				t.Errorf("suspects another process: %t", after.s.underway.sent)
			}
		})
	}
}

func TestStatesBeforeActions(t *testing.T) {
	for name, tc := range map[string]struct {
		verb    plan.Verb
		reason  plan.Reason
		changes []func(*situation)
		value   string
		// want changes the recorded state to the state before the action.
		want func(*externalstate.State)
		// renewed is set if the token is another one.
		renewed, none bool
	}{
		"a create": {verb: plan.VerbCreate, want: intended},
		"a create that is repeated": {
			verb: plan.VerbCreate, changes: []func(*situation){state(intended)},
			want: func(s *externalstate.State) {
				intended(s)
				s.Attempts = 2
			},
		},
		"a create with another spec": {
			verb: plan.VerbCreate, changes: []func(*situation){state(intended)}, value: "b", want: intended, renewed: true,
		},
		"a create after a deletion": {
			verb: plan.VerbCreate, changes: []func(*situation){state(gone)}, want: intended, renewed: true,
		},
		"a deletion": {
			verb: plan.VerbDelete, changes: []func(*situation){state(created)}, want: deletingState,
		},
		"a deletion of nothing": {verb: plan.VerbDelete, none: true},
		"a release":             {verb: plan.VerbOrphan, changes: []func(*situation){state(created)}, want: gone},
		"an update":             {verb: plan.VerbApply, changes: []func(*situation){state(created)}, none: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := desiring(t, plain, tc.changes...)
			if tc.value != "" {
				s.wanted.desired = object(t, tc.value)
			}
			a := action{Action: plan.Action{Verb: tc.verb, Reason: tc.reason, Key: testKey, Object: s.wanted.desired}}
			got := a.stateBefore(&s)
			if (got == nil) != tc.none {
				t.Fatalf("state %+v", got)
			}
			if got == nil {
				return
			}
			want := externalstate.State{Attempts: 1}
			tc.want(&want)
			if got.ID != want.ID || got.Intent != want.Intent || got.Attempts != want.Attempts || got.Gone != want.Gone ||
				!got.Since.Equal(want.Since) || !got.Began.Equal(want.Began) || got.Window != want.Window {
				t.Errorf("state %+v, want %+v", got, want)
			}
			if tc.renewed != (creation(got.Token) == 2) {
				t.Errorf("the token is %s", got.Token)
			}
		})
	}
}
