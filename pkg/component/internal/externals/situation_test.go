package externals

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/component/internal/externalstate"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

// noon is the time of the situations in the tables.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// kindOf is a driver that makes no calls.
type kindOf struct {
	external.Driver

	info external.Info
}

func (k *kindOf) Info() external.Info { return k.info }

func (k *kindOf) Check(r external.Request) external.Findings {
	if strings.Contains(string(r.Spec), "invalid") {
		return external.Findings{Invalid: errNotAllowed}
	}
	return external.Findings{}
}

var errNotAllowed = errors.New("the value is not allowed")

// The kinds of the tables.
var (
	plain = external.Info{
		Kind: "Thing", Creates: true, Updates: true, Deletes: true,
		Poll: time.Minute, Settle: 5 * time.Second, Timeout: 10 * time.Second,
	}
	findable   = withInfo(func(i *external.Info) { i.Finds = true })
	named      = withInfo(func(i *external.Info) { i.Identifies = true })
	idempotent = withInfo(func(i *external.Info) { i.IdempotentFor = time.Hour })
	readOnly   = withInfo(func(i *external.Info) { i.Creates = false })
)

func withInfo(change func(*external.Info)) external.Info {
	info := plain
	change(&info)
	return info
}

var (
	testOwner = manifests.Owner{
		Cluster: "c", Reconciler: "shop.example.com", Group: "example.com", Kind: "Shop", Namespace: "a", Name: "shop",
	}
	testKey = manifests.Key{Group: manifests.ExternalGroup, Kind: "Thing", Name: "one"}
	first   = "00000001" + strings.Repeat("a", 32)
	second  = "00000002" + strings.Repeat("b", 32)
)

// object returns the manifest of an external.
func object(t *testing.T, value string, annotations ...string) *manifests.Object {
	t.Helper()
	body := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "external.fairlead.io/v1", "kind": "Thing", "metadata": map[string]any{"name": "one"},
		"spec": map[string]any{"value": value},
	}}
	settings := map[string]string{}
	for i := 0; i < len(annotations); i += 2 {
		settings[testOwner.Reconciler+"/"+annotations[i]] = annotations[i+1]
	}
	body.SetAnnotations(settings)
	objects, err := normalise.Manifests([]*unstructured.Unstructured{body}, normalise.Options{
		Reconciler: testOwner.Reconciler, Namespace: "a", Owner: testOwner,
	})
	if err != nil {
		t.Fatal(err)
	}
	return &objects[0]
}

// desiring returns the situation of an external that is desired, and of which nothing is recorded or known.
func desiring(t *testing.T, info external.Info, changes ...func(*situation)) situation {
	t.Helper()
	driver := &kindOf{info: info}
	s := situation{now: noon, wanted: wanted{
		owner: testOwner, key: testKey, driver: driver, account: accountKey{driver: driver}, desired: object(t, "a"),
	}}
	for _, change := range changes {
		change(&s)
	}
	return s
}

// state sets the recorded state.
func state(change func(*externalstate.State)) func(*situation) {
	return func(s *situation) {
		manifest := json.RawMessage(`{"spec":{"value":"a"}}`)
		s.recorded.state = &externalstate.State{Token: first, Attempts: 1, Manifest: manifest}
		change(s.recorded.state)
	}
}

func created(s *externalstate.State) { s.ID = "thing-1" }

func intended(s *externalstate.State) {
	s.Intent, s.Since, s.Began, s.Window = externalstate.IntentCreate, noon, noon, 10*time.Second
}

func gone(s *externalstate.State) { s.ID, s.Gone = "thing-1", true }

func claimed(s *externalstate.State) { s.ID, s.Intent = "thing-1", externalstate.IntentCreate }

func deletingState(s *externalstate.State) {
	s.ID, s.Intent, s.Since, s.Began, s.Window = "thing-1", externalstate.IntentDelete, noon, noon, 10*time.Second
}

// begun sets an entry of the inventory with the mark that a create has begun, and with its token.
func begun(s *situation) {
	s.recorded.entry = metav1alpha1.InventoryEntry{External: true, Begun: true, CreationToken: first}
}

// existing sets an entry of the inventory of an external that exists.
func existing(s *situation) {
	s.recorded.entry = metav1alpha1.InventoryEntry{External: true, Begun: true, UID: types.UID(first)}
}

// ours sets the intent that this process stored.
func ours(s *situation) {
	s.recorded.attempts.own, s.recorded.attempts.ownAt = intent{first, 1, true}, noon
}

func sent(s *situation) { s.underway.sent = true }

func answered(a external.Answer) func(*situation) {
	return func(s *situation) { s.observed.asked, s.observed.answer, s.observed.answeredAt = true, &a, noon }
}

// reduced stands for the facts of an external that exists.
func reduced(body *unstructured.Unstructured, _ string, readiness inspect.Analyzer) plan.Observed {
	return plan.Observed{Presence: plan.Present, UID: body.GetUID(), Digest: "digest", Readiness: readiness(body)}
}

func (s *situation) facts() plan.Observed { return facts{s, reduced}.current() }

// The table at the type recorded: what the two records say after a restart.
func TestTheRecordsSayInWhichStepAProcessEnded(t *testing.T) {
	for name, tc := range map[string]struct {
		info    external.Info
		records []func(*situation)
		// want is the presence, and reason the reason if the presence is unknown.
		want   plan.Presence
		reason plan.WaitReason
		asks   bool
	}{
		"neither key nor mark: it was not created": {info: plain, want: plan.Absent},
		"an intent without mark: it was not created": {
			info: plain, records: []func(*situation){state(intended)}, want: plan.Absent,
		},
		"an intent with mark: it is uncertain": {
			info: plain, records: []func(*situation){state(intended), begun}, reason: plan.WaitCreateUncertain,
		},
		"an intent with mark of this process is not": {
			info: plain, records: []func(*situation){state(intended), begun, ours}, want: plan.Absent,
		},
		"an intent with mark, of a kind that finds": {
			info: findable, records: []func(*situation){state(intended), begun}, reason: plan.WaitInProgress, asks: true,
		},
		"an intent with mark, of a kind that identifies": {
			info: named, records: []func(*situation){state(intended), begun, knows("thing-1")}, reason: plan.WaitInProgress,
			asks: true,
		},
		"an intent with mark, of a kind that may repeat": {
			info: idempotent, records: []func(*situation){state(intended), begun}, reason: plan.WaitInProgress,
		},
		"an id with mark: it was created": {
			info: plain, records: []func(*situation){state(created), existing}, reason: plan.WaitObserving, asks: true,
		},
		"an id without entry: it was created": {
			info: plain, records: []func(*situation){state(created)}, reason: plan.WaitObserving, asks: true,
		},
		"no key with mark: it is uncertain": {
			info: plain, records: []func(*situation){begun}, reason: plan.WaitCreateUncertain,
		},
		"no key with mark, of a kind that finds": {
			info: findable, records: []func(*situation){begun}, reason: plan.WaitInProgress, asks: true,
		},
		"a damaged key with mark: only a person can say it": {
			info: plain, records: []func(*situation){existing, damaged}, reason: plan.WaitStateDamaged,
		},
		"a damaged key without mark: it was not created": {
			info: plain, records: []func(*situation){damaged}, want: plan.Absent,
		},
		"deleted: it may be created again": {
			info: plain, records: []func(*situation){state(gone), existing}, want: plan.Absent,
		},
		"deleted, of a kind that identifies: others may own it": {
			info: named, records: []func(*situation){state(gone), existing, knows("thing-1")}, reason: plan.WaitObserving,
			asks: true,
		},
		"an id of a person: it is looked up": {
			info: plain, records: []func(*situation){state(claimed), begun}, reason: plan.WaitInProgress, asks: true,
		},
		"a kind that cannot create: its id is not known": {info: readOnly, reason: plan.WaitAbsent},
	} {
		t.Run(name, func(t *testing.T) {
			s := &step{s: desiring(t, tc.info, tc.records...)}
			s.adopt(s.s.recorded.state, s.s.recorded.damaged)
			got := s.s.facts()
			want := tc.want
			if tc.reason != "" {
				want = plan.Unknown
			}
			if got.Presence != want || got.Reason != tc.reason {
				t.Errorf("%v %s (%s), want %v %s", got.Presence, got.Reason, got.Message, want, tc.reason)
			}
			if asks := s.s.canAsk(); asks != tc.asks {
				t.Errorf("a call can show it: %t", asks)
			}
		})
	}
}

func knows(id string) func(*situation) { return func(s *situation) { s.wanted.knownID = id } }

func damaged(s *situation) { s.recorded.damaged = "it was edited" }

func TestFacts(t *testing.T) {
	failing := func(s *situation) {
		s.observed.failed = &failed{failure: plan.Failure{Reason: plan.WaitCallFailed, Message: "observe: 503"}, attempts: 2}
	}
	for name, tc := range map[string]struct {
		info    external.Info
		changes []func(*situation)
		want    plan.Presence
		reason  plan.WaitReason
		message string
	}{
		"it exists": {
			changes: []func(*situation){state(created), answered(external.Answer{Ready: true})}, want: plan.Present,
		},
		"without a handler": {
			changes: []func(*situation){state(created), func(s *situation) { s.wanted.driver = nil }},
			reason:  plan.WaitNoHandler, message: "no handler is registered for externals of the kind Thing",
		},
		"released, and no handler is needed": {
			changes: []func(*situation){state(gone), func(s *situation) { s.wanted.driver, s.wanted.desired = nil, nil }},
			want:    plan.Absent,
		},
		"a call is under way": {
			changes: []func(*situation){state(created), func(s *situation) {
				s.underway.verb, s.underway.since = plan.VerbApply, noon
			}},
			reason: plan.WaitInProgress, message: "a call is under way since 2026-01-01T12:00:00Z: Apply",
		},
		"a result is being recorded": {
			changes: []func(*situation){state(created), func(s *situation) { s.underway.saving = true }},
			reason:  plan.WaitInProgress, message: "the result of a call is being stored",
		},
		"a result cannot be recorded": {
			changes: []func(*situation){state(created), func(s *situation) {
				s.underway.saving, s.underway.unsaved = true, "quota exceeded"
			}},
			reason:  plan.WaitInProgress,
			message: "the result of a call is being stored; it failed: quota exceeded",
		},
		"a call failed and is repeated later": {
			changes: []func(*situation){state(created), func(s *situation) {
				s.underway.failures = map[plan.Verb]*failed{plan.VerbApply: {
					failure: plan.Failure{Reason: plan.WaitCallFailed, Message: "update: 503"}, until: noon.Add(time.Second),
				}}
			}},
			reason: plan.WaitCallFailed, message: "update: 503",
		},
		"a call failed for another manifest": {
			changes: []func(*situation){state(created), answered(external.Answer{}), func(s *situation) {
				s.underway.failures = map[plan.Verb]*failed{plan.VerbApply: {until: noon.Add(time.Second), digest: "another"}}
			}},
			want: plan.Present,
		},
		"a failing poll keeps the last answer": {
			changes: []func(*situation){state(created), answered(external.Answer{}), failing},
			want:    plan.Present,
		},
		"a failing poll keeps no old answer": {
			changes: []func(*situation){state(created), answered(external.Answer{}), failing, func(s *situation) {
				s.now = noon.Add(4 * time.Minute)
			}},
			reason: plan.WaitCallFailed, message: "observe: 503",
		},
		"one answer says that there is none": {
			changes: []func(*situation){state(created), func(s *situation) { s.observed.missing.first = noon }},
			reason:  plan.WaitInProgress, message: "it was not found; it is observed again before it counts as deleted",
		},
		"two answers say that there is none": {changes: []func(*situation){state(created), isMissing}, want: plan.Absent},
		"the annotation names an external that does not exist": {
			changes: []func(*situation){isMissing, names("4711")}, reason: plan.WaitNotFound,
			message: `its annotation external-id names the external "4711", which does not exist`,
		},
		"a kind that cannot create, and there is none": {
			info: readOnly, changes: []func(*situation){state(created), isMissing}, reason: plan.WaitAbsent,
			message: "it does not exist, and its kind cannot create it",
		},
		"an uncertain create of another token": {
			changes: []func(*situation){state(intended), begun, sent, func(s *situation) {
				s.underway.createError = "create: 503"
			}},
			reason: plan.WaitCreateUncertain,
			message: "the result of its creation is not known (begun at 2026-01-01T12:00:00Z), token " + first +
				"; create: 503; find out whether it exists, and run: fairlead external resolve",
		},
		"the id of a person is wrong": {
			changes: []func(*situation){state(intended), begun, sent, func(s *situation) {
				s.observed.rejection = "the external is another one"
			}},
			reason: plan.WaitCreateUncertain, message: "the external is another one; the result of its creation is not known",
		},
	} {
		t.Run(name, func(t *testing.T) {
			info := tc.info
			if info.Kind == "" {
				info = plain
			}
			s := desiring(t, info, tc.changes...)
			got, want := s.facts(), tc.want
			if tc.reason != "" {
				want = plan.Unknown
			}
			if got.Presence != want || got.Reason != tc.reason || !strings.HasPrefix(got.Message, tc.message) {
				t.Errorf("%v %s %q, want %v %s %q", got.Presence, got.Reason, got.Message, want, tc.reason, tc.message)
			}
		})
	}
}

func isMissing(s *situation) { s.observed.missing.confirmed = true }

// names sets the annotation with the id of an external that is adopted.
func names(id string) func(*situation) {
	return func(s *situation) {
		body := &unstructured.Unstructured{Object: s.wanted.manifest()}
		body = body.DeepCopy()
		body.SetAnnotations(map[string]string{testOwner.Reconciler + "/external-id": id})
		objects, err := normalise.Manifests([]*unstructured.Unstructured{body}, normalise.Options{
			Reconciler: testOwner.Reconciler, Namespace: "a", Owner: testOwner,
		})
		if err != nil {
			panic(err)
		}
		s.wanted.desired, s.wanted.knownID = &objects[0], id
	}
}

func TestFactsOfAnExternalThatExists(t *testing.T) {
	s := desiring(t, plain, state(created), existing, answered(external.Answer{Differs: "value", Token: second}))
	o := s.facts()
	if o.MatchResult.Differs != "value" || o.Owner != second || o.Digest != "digest" || o.UID != types.UID(first) {
		t.Errorf("%+v", o)
	}
	s.observed.unverified = true
	if o = s.facts(); o.MatchResult.Differs != "" || !strings.Contains(o.Readiness.Message, "it is observed again") {
		t.Errorf("an answer from before the write counts: %+v", o)
	}
	s.recorded.state = nil
	if o = (facts{&s, reduced}).present(); o.Digest != "" {
		t.Errorf("an external that is not recorded has the digest %q", o.Digest)
	}
}

func TestAttemptsOfOtherProcessesEnd(t *testing.T) {
	for name, tc := range map[string]struct {
		began time.Time
		since time.Time
		want  time.Duration
	}{
		"just recorded":                          {began: noon, want: time.Minute},
		"by a machine whose clock is behind":     {began: noon.Add(-3 * time.Minute), want: time.Minute},
		"by a machine whose clock is ahead":      {began: noon.Add(time.Hour), want: time.Minute},
		"so long ago that clocks do not matter":  {began: noon.Add(-10 * time.Minute), want: -4 * time.Minute},
		"by a version that recorded since alone": {since: noon.Add(-10 * time.Minute), want: -4 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			recorded := &externalstate.State{Began: tc.began, Since: tc.since, Window: 30 * time.Second}
			if got := attemptEnds(recorded, 10*time.Second, noon).Sub(noon); got != tc.want {
				t.Errorf("it ends in %s, want %s", got, tc.want)
			}
		})
	}
}
