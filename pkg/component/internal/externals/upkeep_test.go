package externals

import (
	"slices"
	"strings"
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/externalstate"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func referTo(names ...string) func(*situation) {
	return func(s *situation) {
		for _, name := range names {
			ref := metav1alpha1.Reference{Kind: metav1alpha1.SecretReference, Name: name}
			s.recorded.state.References = append(s.recorded.state.References, ref)
		}
	}
}

func notDesired(s *situation) { s.wanted.desired = nil }

func TestUpkeep(t *testing.T) {
	for name, tc := range map[string]struct {
		changes []func(*situation)
		// removes is set if the state is removed, records if it is changed, and shortens if it loses references.
		removes, records, shortens bool
		needed                     []string
		event                      string
	}{
		"an external that is used": {changes: []func(*situation){state(created), existing}},
		"one that was deleted, and has no entry": {
			changes: []func(*situation){state(gone), notDesired, referTo("admin")}, removes: true,
		},
		"one that was deleted, and has an entry": {changes: []func(*situation){state(gone), existing, notDesired}},
		"one that was not created, and has no entry": {
			changes: []func(*situation){state(intended), notDesired}, removes: true,
		},
		"one that may be created, and has no entry": {
			changes: []func(*situation){state(intended), notDesired, sent, referTo("admin")}, needed: []string{"admin"},
			event: "ExternalUnrecorded",
		},
		"one that exists, and has no entry": {
			changes: []func(*situation){state(created), notDesired, referTo("admin")}, needed: []string{"admin"},
			event: "ExternalUnrecorded",
		},
		"one that is reported already": {changes: []func(*situation){state(created), notDesired, func(s *situation) {
			s.recorded.reported = true
		}}},
		"a reference that no call needs": {
			changes: []func(*situation){state(created), existing, referTo("previous")}, shortens: true,
		},
		"a reference that a call under way needs": {
			changes: []func(*situation){state(created), existing, referTo("previous"), func(s *situation) {
				s.underway.verb = plan.VerbApply
			}},
			needed: []string{"previous"},
		},
		"a reference without a handler": {
			changes: []func(*situation){state(created), existing, referTo("previous"), func(s *situation) {
				s.wanted.driver = nil
			}},
			needed: []string{"previous"},
		},
		"a deletion that is continued": {
			changes: []func(*situation){state(deletingState), existing, notDesired, referTo("admin")}, records: true,
			needed: []string{"admin"},
		},
		"a deletion whose call succeeded": {
			changes: []func(*situation){state(deletingState), existing, notDesired, func(s *situation) {
				s.underway.deleteSent = true
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			u, s := newUpkeep(), &step{s: desiring(t, plain, tc.changes...)}
			u.add(s, &SessionInput{})
			next, changes := u.changes[testKey]
			if removes := changes && next == nil; removes != tc.removes {
				t.Errorf("removes: %t", removes)
			}
			if records := changes && next != nil; records != tc.records {
				t.Errorf("records: %t", records)
			}
			if shortens := u.shortened[testKey] != nil; shortens != tc.shortens {
				t.Errorf("shortens: %t", shortens)
			}
			var needed []string
			for name := range u.needed {
				needed = append(needed, name)
			}
			if !slices.Equal(needed, tc.needed) || s.event[0] != tc.event {
				t.Errorf("needs %q, event %q", needed, s.event)
			}
		})
	}
}

func TestAnswersOfAPerson(t *testing.T) {
	uncertain := []func(*situation){state(intended), begun, sent}
	for name, tc := range map[string]struct {
		changes []func(*situation)
		answer  *Resolution
		// want is the recorded state after the answer; nil if none is recorded any more. ignored is set if nothing changes.
		want    *externalstate.State
		ignored bool
	}{
		"no answer":            {changes: uncertain, ignored: true},
		"about another create": {changes: uncertain, answer: &Resolution{Token: second, Absent: true}, ignored: true},
		"about a certain create": {
			changes: []func(*situation){state(created)}, answer: &Resolution{Token: first, Absent: true}, ignored: true,
		},
		"an id": {
			changes: uncertain, answer: &Resolution{Token: first, ID: "x"},
			want: &externalstate.State{Token: first, ID: "x", Intent: externalstate.IntentCreate},
		},
		"an id that was looked up": {
			changes: append(slices.Clone(uncertain), func(s *situation) { s.observed.rejectedID = "x" }),
			answer:  &Resolution{Token: first, ID: "x"}, ignored: true,
		},
		"an id for a lost state": {
			changes: []func(*situation){begun}, answer: &Resolution{Token: first, ID: "x"},
			want: &externalstate.State{Token: first, ID: "x", Intent: externalstate.IntentCreate},
		},
		"absent, with an entry": {
			changes: uncertain, answer: &Resolution{Token: first, Absent: true},
			want: &externalstate.State{Token: second, Gone: true},
		},
		"absent, without an entry": {
			changes: []func(*situation){state(intended), sent}, answer: &Resolution{Token: first, Absent: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, s := &SessionInput{}, &step{s: desiring(t, plain, tc.changes...)}
			if tc.answer != nil {
				p.Resolved = map[manifests.Key]Resolution{testKey: *tc.answer}
			}
			got, changes := p.resolve(s)
			if changes == tc.ignored {
				t.Fatalf("it changes the state: %t", changes)
			}
			if (got == nil) != (tc.want == nil) {
				t.Fatalf("state %+v, want %+v", got, tc.want)
			}
			if got != nil && (creation(got.Token) != creation(tc.want.Token) || got.ID != tc.want.ID ||
				got.Intent != tc.want.Intent || got.Gone != tc.want.Gone) {
				t.Errorf("state %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestWhyNoCallCanBeMade(t *testing.T) {
	refs := func(s *situation) {
		body := s.wanted.manifest()
		body["references"] = []any{map[string]any{"kind": "Secret", "name": "admin"}}
		whole, _ := s.wanted.desired.Whole()
		whole.Body.Object = body
		s.wanted.desired = &whole
	}
	has := func(missing string) func(*situation) {
		return func(s *situation) {
			ref := metav1alpha1.Reference{Kind: metav1alpha1.SecretReference, Name: "admin", Credential: true}
			s.wanted.contents = map[metav1alpha1.Reference]Content{ref: {Missing: missing}}
			ref.Credential = false
			s.wanted.contents[ref] = Content{Missing: missing}
		}
	}
	secret := manifests.Object{Key: manifests.Key{Kind: "Secret", Namespace: "a", Name: "admin"}}
	for name, tc := range map[string]struct {
		changes []func(*situation)
		desired []manifests.Object
		invalid error
		reason  plan.WaitReason
		class   plan.FailureClass
		message string
	}{
		"nothing": {changes: []func(*situation){refs, has("")}},
		"a Secret that is missing": {
			changes: []func(*situation){refs, has("Secret admin does not exist")},
			reason:  plan.WaitNotFound, class: plan.Terminal, message: "Secret admin does not exist",
		},
		"a Secret that the component creates": {
			changes: []func(*situation){refs, has("Secret admin does not exist")}, desired: []manifests.Object{secret},
			reason: plan.WaitNotFound, class: plan.Transient, message: "Secret admin does not exist",
		},
		"a deleted external": {changes: []func(*situation){state(gone), refs, has("missing"), notDesired}},
		"a spec that its kind refuses": {
			invalid: errNotAllowed, reason: plan.WaitInvalid, class: plan.Terminal, message: errNotAllowed.Error(),
		},
		"a spec that is not desired any more": {
			changes: []func(*situation){state(created), notDesired}, invalid: errNotAllowed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := desiring(t, plain, tc.changes...)
			p := &SessionInput{Owner: testOwner, Desired: tc.desired}
			f := p.problem(&s, tc.invalid)
			if f == nil {
				f = &plan.Failure{}
			}
			if f.Reason != tc.reason || f.Class != tc.class || !strings.Contains(f.Message, tc.message) {
				t.Errorf("failure %+v", f)
			}
		})
	}
}
