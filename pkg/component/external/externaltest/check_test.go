package externaltest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/component/external/externaltest"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// Bucket is the spec and the observed state of a bucket.
type Bucket struct {
	Name string `json:"name"`
	Size int    `json:"size,omitempty"`
	Zone string `json:"zone,omitempty"`
	Tag  string `json:"tag,omitempty"`
}

// store is an external system in memory. flaw selects a mistake in it or in its handler.
type store struct {
	mutex   sync.Mutex
	flaw    string
	lose    bool
	next    int
	buckets map[string]Bucket
}

func (s *store) loseAnswer() { s.lose = s.flaw != "the answer is not lost" }

var errNoAnswer = errors.New("no answer")

const password = `pass%"w + ord`

func (s *store) allows(r generator.References) error {
	value, err := r.OnlySecret("password")
	if s.flaw == "all passwords are accepted" || value == password {
		return nil
	}
	text := "the password is wrong"
	if s.flaw == "an error shows a password" {
		text += " in http://store?password=" + url.QueryEscape(value)
	}
	if s.flaw == "a wrong password is unknown" {
		return errors.New(text)
	}
	return external.Refused(errors.Join(errors.New(text), err))
}

// buckets handles buckets with ids that the store allocates.
type buckets struct{ *store }

func (b buckets) Observe(_ context.Context, r external.Ref[Bucket]) (Bucket, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if err := b.allows(r.References); err != nil {
		return Bucket{}, err
	}
	found, exists := b.buckets[r.ID]
	switch {
	case b.flaw == "the changed spec is observed" && r.Spec.Zone == "b":
		return found, external.ErrNotFound
	case !exists && b.flaw == "a missing external is observed":
		return Bucket{}, nil
	case !exists:
		return found, external.ErrNotFound
	case b.flaw == "a field is not observed":
		found.Size = r.Spec.Size
	}
	return found, nil
}

func (b buckets) Create(_ context.Context, r external.Ref[Bucket]) (external.Created[Bucket], error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if err := b.allows(r.References); err != nil {
		return external.Created[Bucket]{}, err
	}
	id, bucket := "", r.Spec
	for known, bucket := range b.buckets {
		if bucket.Tag == r.Token && b.flaw != "a repeated create doubles" {
			id = known
		}
	}
	if id == "" {
		b.next++
		id = fmt.Sprint("bucket-", b.next)
		bucket.Tag = r.Token
		if b.flaw == "the token is not stored" {
			bucket.Tag = "none"
		}
		if b.flaw == "the size is ignored" {
			bucket.Size = 7
		}
		b.buckets[id] = bucket
	}
	if b.lose {
		b.lose = false
		switch b.flaw {
		case "a lost answer is a refusal":
			return external.Created[Bucket]{}, external.Refused(errNoAnswer)
		case "a lost answer is an existing external":
			return external.Created[Bucket]{}, external.ErrExists
		}
		return external.Created[Bucket]{}, errNoAnswer
	}
	return external.Created[Bucket]{ID: id, Observed: b.buckets[id]}, nil
}

func (b buckets) Update(_ context.Context, r external.Ref[Bucket], observed Bucket) (Bucket, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.flaw == "an update cannot be repeated" && observed.Size == r.Spec.Size {
		return observed, errors.New("nothing to do")
	}
	if b.flaw != "an update does nothing" {
		observed.Size = r.Spec.Size
	}
	b.buckets[r.ID] = observed
	return observed, nil
}

func (b buckets) Delete(_ context.Context, r external.Ref[Bucket]) error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if err := b.allows(r.References); err != nil {
		return err
	}
	if _, exists := b.buckets[r.ID]; !exists && b.flaw == "a repeated deletion fails" {
		return errors.New("no such bucket")
	}
	if b.flaw != "a deletion does nothing" {
		delete(b.buckets, r.ID)
	}
	return nil
}

func (b buckets) ImmutableChanges(applied, desired Bucket) []string {
	switch b.flaw {
	case "a field has a wrong name":
		return external.Changed(applied, desired, "zoen")
	case "immutable changes are not reported":
		return nil
	case "all changes are immutable":
		return external.Changed(applied, desired, "size", "zone")
	}
	return external.Changed(applied, desired, "zone")
}

func (buckets) Token(observed Bucket) string { return observed.Tag }

// tagged handles buckets that are found by their tag.
type tagged struct{ buckets }

func (k tagged) Find(_ context.Context, r external.Ref[Bucket]) (id string, found bool, err error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if err := k.allows(r.References); err != nil {
		return "", false, err
	}
	for id, bucket := range k.store.buckets {
		if bucket.Tag == r.Token || k.flaw == "every token is found" {
			return id, true, nil
		}
	}
	return "", false, nil
}

func (k tagged) List(_ context.Context, a external.Account) (map[string]Bucket, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if err := k.allows(a.References); err != nil {
		return nil, err
	}
	listed := maps.Clone(k.store.buckets)
	for id, bucket := range listed {
		switch k.flaw {
		case "a list is empty":
			delete(listed, id)
		case "a list has other values":
			bucket.Zone = ""
			listed[id] = bucket
		}
	}
	return listed, nil
}

// named handles buckets whose ids are their names.
type named struct{ buckets }

func (named) Identify(spec Bucket) string { return spec.Name }

func (k named) Create(_ context.Context, r external.Ref[Bucket]) (external.Created[Bucket], error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if err := k.allows(r.References); err != nil {
		return external.Created[Bucket]{}, err
	}
	if _, exists := k.store.buckets[r.Spec.Name]; exists && k.flaw != "a create takes over" {
		return external.Created[Bucket]{}, external.ErrExists
	}
	created := r.Spec
	created.Tag = r.Token
	k.store.buckets[r.Spec.Name] = created
	if k.lose {
		k.lose = false
		return external.Created[Bucket]{}, errNoAnswer
	}
	return external.Created[Bucket]{Observed: created}, nil
}

func secret(value string) generator.References {
	return generator.References{{Kind: "Secret", Namespace: "apps", Name: "store"}: {"password": []byte(value)}}
}

// caseOf returns the case for all kinds of buckets.
func caseOf(s *store) externaltest.Case {
	return externaltest.Case{
		Spec:      Bucket{Name: "media", Size: 1, Zone: "a"},
		Changed:   Bucket{Name: "media", Size: 2, Zone: "a"},
		Immutable: Bucket{Name: "media", Size: 1, Zone: "b"},

		References: secret(password), WrongReferences: secret(`wrong%"w + ord`),
		LoseAnswer: s.loseAnswer, Within: time.Millisecond,
	}
}

func newStore(flaw string) *store { return &store{flaw: flaw, buckets: map[string]Bucket{}} }

// drivers returns a driver of each kind.
func drivers(s *store) map[string]external.Driver {
	return map[string]external.Driver{
		"tagged":     external.Of("Bucket", tagged{buckets{s}}, external.Options[Bucket]{}),
		"idempotent": external.Of("Bucket", buckets{s}, external.Options[Bucket]{IdempotentFor: time.Minute}),
		"named":      external.Of("Bucket", named{buckets{s}}, external.Options[Bucket]{}),
	}
}

func TestGoodDriversPass(t *testing.T) {
	for kind := range drivers(nil) {
		for _, lose := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, an answer is lost: %t", kind, lose), func(t *testing.T) {
				s := newStore("")
				c := caseOf(s)
				if !lose {
					c.LoseAnswer = nil
				}
				externaltest.Check(t, drivers(s)[kind], c)
				if len(s.buckets) > 0 {
					t.Errorf("these buckets are left: %v", s.buckets)
				}
			})
		}
	}
}

func TestViolationsAreFound(t *testing.T) {
	for _, c := range []struct{ flaw, kind, want string }{
		{"the answer is not lost", "tagged", "the answer to Create was not lost"},
		{"a lost answer is a refusal", "tagged", "Create must not return a refusal"},
		{"a lost answer is an existing external", "tagged", "Create must not return ErrExists"},
		{"the token is not stored", "tagged", "Find must find the external by its token"},
		{"the token is not stored", "idempotent", "the new external has another token"},
		{"every token is found", "tagged", "with the token of another external, Find must find nothing"},
		{"a repeated create doubles", "idempotent", "send r.Token as the idempotency key"},
		{"a create takes over", "named", "Create must return ErrExists"},
		{"the size is ignored", "tagged", "the new external differs from its spec: spec.size: want 1, found 7"},
		{"a field is not observed", "tagged", "a drift would not be noticed"},
		{"a list is empty", "tagged", "List does not have the external"},
		{"a list has other values", "tagged", "List must return the same state as Observe"},
		{"an update does nothing", "tagged", "after the update the external differs: spec.size: want 2, found 1"},
		{"an update cannot be repeated", "tagged", "a repeated update: nothing to do"},
		{"a field has a wrong name", "tagged", "without a change, ImmutableChanges returns"},
		{"immutable changes are not reported", "tagged", "the changes in Case.Immutable are not reported"},
		{"the changed spec is observed", "tagged", "Observe must use r.ID"},
		{"all changes are immutable", "tagged", `Case.Changed: ["spec.size"] cannot be changed`},
		{"all passwords are accepted", "tagged", "with wrong credentials, Find must return an error"},
		{"a wrong password is unknown", "tagged", "Create must return a refusal, because nothing was created"},
		{"an error shows a password", "tagged", "shows the value of the key password of Secret store"},
		{"a repeated deletion fails", "tagged", "a repeated deletion: Delete must be repeatable"},
		{"a deletion does nothing", "tagged", "after the deletion, Observe must return ErrNotFound"},
		{"a missing external is observed", "named", "before the creation, Observe must return ErrNotFound"},
	} {
		t.Run(c.flaw+", "+c.kind, func(t *testing.T) {
			s := newStore(c.flaw)
			err := externaltest.Verify(t.Context(), drivers(s)[c.kind], caseOf(s))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if strings.Contains(fmt.Sprint(err), `"w + ord`) {
				t.Errorf("the error shows a password: %v", err)
			}
		})
	}
}

func TestCasesThatCannotBeCheckedAreRefused(t *testing.T) {
	s := newStore("")
	manual := external.Of("Bucket", buckets{s}, external.Options[Bucket]{})
	for want, c := range map[string]struct {
		driver external.Driver
		change func(*externaltest.Case)
	}{
		"Case.Spec: set the spec":             {manual, func(c *externaltest.Case) { c.Spec = nil }},
		"Case.Spec is refused: unknown field": {manual, func(c *externaltest.Case) { c.Spec = map[string]int{"sise": 1} }},
		"Case.Changed is refused: " +
			"unknown field": {manual, func(c *externaltest.Case) { c.Changed = map[string]int{"sise": 1} }},
		"write Case.Changed as JSON":            {manual, func(c *externaltest.Case) { c.Changed = func() {} }},
		"nothing can find the external after a": {manual, func(*externaltest.Case) {}},
		"external driver 1 is nil":              {nil, func(*externaltest.Case) {}},
		"the kind Bucket has no Create": {
			external.Of("Bucket", struct{ external.Kind[Bucket, Bucket] }{buckets{s}}, external.Options[Bucket]{}),
			func(*externaltest.Case) {},
		},
	} {
		changed := caseOf(s)
		c.change(&changed)
		if err := externaltest.Verify(t.Context(), c.driver, changed); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
