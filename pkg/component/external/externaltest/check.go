package externaltest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Case is the external that Verify creates, changes and deletes. A spec is a value whose JSON form is the spec of a
// manifest, such as the type S of the Kind, a map or json.RawMessage. Fields that are not set omit their checks, except
// for Spec, which is mandatory.
type Case struct {
	// Spec is the spec of the new external. No external may have its identity.
	Spec any
	// Changed is a spec that the external is changed to. The difference must be visible in the observed state.
	Changed any
	// Immutable is a spec that differs from Spec in a field that cannot be changed.
	Immutable any
	// References are the Secrets and ConfigMaps with the credentials.
	References generator.References
	// WrongReferences are References with credentials that the external system refuses. To find errors that show them in
	// another form, give them characters such as %, " and +.
	WrongReferences generator.References
	// LoseAnswer makes the external system carry out the next create and lose the answer. It is called once, right before
	// the create. The kind needs Identify, Find or Options.IdempotentFor.
	LoseAnswer func()
	// Component is the component in the calls; nil by default.
	Component client.Object
	// Within is the time within which the external system shows a write. By default it is Options.Settle, and at least a
	// second.
	Within time.Duration
}

// Check fails a test if a driver violates the contract of the reconciler; see Verify.
func Check(t testing.TB, d external.Driver, c Case) {
	t.Helper()
	if err := Verify(t.Context(), d, c); err != nil {
		t.Error(err)
	}
}

// Verify creates, observes, changes and deletes an external, and returns an error for each violation of the contract
// between handlers and the reconciler. The errors are joined, and each error names the remedy. The kind must have
// Create. Verify checks these rules, as far as the kind has the methods:
//
//   - The options and the methods are valid, and the specs are accepted.
//   - Before the creation, Observe by the identity returns ErrNotFound, and Find finds nothing.
//   - If the answer to Create is lost, the error is no refusal, and the external is found: by its identity, by Find, or
//     by another Create with the same token.
//   - A repeated Create with the same token makes no second external. If the kind has an identity, a Create with
//     another token returns ErrExists. Find finds the external by its token alone.
//   - The new external has its token and does not differ from its spec.
//   - List returns the same as Observe.
//   - A changed spec differs from the observed state before Update, and not afterwards. Update can be repeated.
//   - Changes of immutable fields are reported, and no other changes. Observe uses the id, not the changed spec.
//   - Wrong credentials lead to errors that are not ErrNotFound, and that of Create is a refusal.
//   - Delete can be repeated, also for an external that does not exist. Afterwards Observe returns ErrNotFound, Find
//     finds nothing, List does not have the external, and Update does not create it again.
//   - Errors and messages show no value of a Secret. A driver removes the values themselves, so this finds quoted,
//     escaped and encoded values.
//
// After a violation, Verify deletes the external that it created, if the id is known. A second external, which a faulty
// handler creates, may stay.
func Verify(ctx context.Context, d external.Driver, c Case) error {
	if err := external.Validate(d); err != nil {
		return err
	}
	s, err := newSubject(d, c)
	if err != nil {
		return err
	}
	errs := []error{s.acceptsSpecs(), s.findsNothing(ctx)}
	if err := s.creates(ctx); err != nil {
		errs = append(errs, err)
		if s.request.ID != "" {
			errs = append(errs, s.deletes(ctx))
		}
		return errors.Join(append(errs, s.leaks.err())...)
	}
	errs = append(errs,
		s.repeats(ctx),
		s.isAsSpecified(ctx),
		s.lists(ctx),
		s.updates(ctx),
		s.reportsImmutable(ctx),
		s.refusesCredentials(ctx),
		s.deletes(ctx),
		s.leaks.err(),
	)
	return errors.Join(errs...)
}

// subject is a driver and the external that it is checked with.
type subject struct {
	driver external.Driver
	info   external.Info
	within time.Duration
	Case
	// request is the request for the external with Case.Spec. Its ID is set by creates.
	request            external.Request
	changed, immutable json.RawMessage
	leaks              *leaks
}

func newSubject(d external.Driver, c Case) (*subject, error) {
	info := d.Info()
	if !info.Creates {
		return nil, fmt.Errorf("the kind %s has no Create; test its methods one by one", info.Kind)
	}
	if c.Spec == nil {
		return nil, errors.New("Case.Spec: set the spec of an external")
	}
	found := newLeaks(c.References, c.WrongReferences)
	s := &subject{
		driver: observed{d, found}, info: info, Case: c, leaks: found,
		within: max(c.Within, 0),
		request: external.Request{
			Component: c.Component, References: c.References,
			Key: manifests.Key{Group: external.Group, Kind: info.Kind, Name: "externaltest"},
		},
	}
	if s.within == 0 {
		s.within = max(info.Settle, time.Second)
	}
	var err error
	if s.request.Token, err = newToken(); err != nil {
		return nil, err
	}
	for _, spec := range []struct {
		name  string
		value any
		text  *json.RawMessage
	}{
		{"Spec", c.Spec, &s.request.Spec}, {"Changed", c.Changed, &s.changed}, {"Immutable", c.Immutable, &s.immutable},
	} {
		if spec.value == nil {
			continue
		}
		if *spec.text, err = json.Marshal(spec.value); err != nil {
			return nil, fmt.Errorf("write Case.%s as JSON: %w", spec.name, err)
		}
	}
	return s, nil
}

// newToken returns a token as the reconciler makes them.
func newToken() (string, error) {
	random := make([]byte, 20)
	if _, err := rand.Read(random); err != nil {
		return "", err
	}
	return hex.EncodeToString(random), nil
}

// withToken returns the request with another token.
func (s *subject) withToken() (external.Request, error) {
	r := s.request
	var err error
	r.Token, err = newToken()
	return r, err
}

// changedTo returns the request for a change of the applied spec.
func (s *subject) changedTo(spec json.RawMessage) external.Request {
	r := s.request
	r.Applied, r.Spec = r.Spec, spec
	return r
}

// pollTime is the time between two attempts of eventually.
const pollTime = 20 * time.Millisecond

// eventually calls f until it returns nil, at most for the time within which the external system shows a write. It
// returns the last error.
func (s *subject) eventually(ctx context.Context, f func(context.Context) error) error {
	ended, cancel := context.WithTimeout(ctx, s.within)
	defer cancel()
	for {
		err := s.once(ctx, f)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(pollTime):
		case <-ended.Done():
			return err
		}
	}
}

// once calls f with the time-out of a call.
func (s *subject) once(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.info.Timeout)
	defer cancel()
	return f(ctx)
}
