package externaltest

import (
	"context"
	"errors"
	"fmt"

	"github.com/fairlead-io/fairlead/pkg/component/external"
)

// acceptsSpecs checks that the specs are valid.
func (s *subject) acceptsSpecs() error {
	var errs []error
	findings := s.driver.Check(s.request)
	if findings.Invalid != nil {
		errs = append(errs, fmt.Errorf("Case.Spec is refused: %w", findings.Invalid))
	}
	if s.changed != nil {
		if findings := s.driver.Check(s.changedTo(s.changed)); findings.Invalid != nil {
			errs = append(errs, fmt.Errorf("Case.Changed is refused: %w", findings.Invalid))
		}
	}
	if found := s.driver.Check(s.changedTo(s.request.Spec)).Immutable; len(found) > 0 {
		errs = append(errs, fmt.Errorf("without a change, ImmutableChanges returns %q; return the changed fields only, "+
			"and check the names of fields that external.Changed gets", found))
	}
	return errors.Join(errs...)
}

// identity returns the id that is known before the creation, or an empty text.
func (s *subject) identity() string {
	if !s.info.Identifies {
		return ""
	}
	return s.driver.Check(s.request).ID
}

// findsNothing checks that the external does not exist yet.
func (s *subject) findsNothing(ctx context.Context) error {
	const when = "before the creation"
	return errors.Join(s.isNotFound(ctx, s.identity(), when), s.findsNone(ctx, s.request, when))
}

// isNotFound checks that Observe returns ErrNotFound. An empty id omits the check.
func (s *subject) isNotFound(ctx context.Context, id, when string) error {
	if id == "" {
		return nil
	}
	r := s.request
	r.ID = id
	return s.once(ctx, func(ctx context.Context) error {
		if _, err := s.driver.Observe(ctx, r); !errors.Is(err, external.ErrNotFound) {
			return fmt.Errorf("%s, Observe must return ErrNotFound for an external that does not exist; it returned: %w",
				when, orNone(err))
		}
		return nil
	})
}

// findsNone checks that Find finds nothing.
func (s *subject) findsNone(ctx context.Context, r external.Request, when string) error {
	if !s.info.Finds {
		return nil
	}
	return s.once(ctx, func(ctx context.Context) error {
		switch id, found, err := s.driver.Find(ctx, r); {
		case err != nil:
			return fmt.Errorf("%s, Find must find nothing, without an error; it returned: %w", when, err)
		case found:
			return fmt.Errorf("%s, Find must find nothing, and found %q; compare the whole token of each external", when, id)
		}
		return nil
	})
}

var errNone = errors.New("no error")

// orNone returns the error, or one that says that there is none.
func orNone(err error) error {
	if err == nil {
		return errNone
	}
	return err
}

// creates creates the external, and loses the answer if the case says how. It sets the id.
func (s *subject) creates(ctx context.Context) error {
	if s.LoseAnswer == nil {
		return s.createsOnce(ctx)
	}
	if !s.info.Identifies && !s.info.Finds && s.info.IdempotentFor == 0 {
		return errors.New("Case.LoseAnswer: nothing can find the external after a lost answer; write Identify or Find, or " +
			"set Options.IdempotentFor, or leave LoseAnswer out")
	}
	s.LoseAnswer()
	err := s.once(ctx, func(ctx context.Context) error {
		answer, err := s.driver.Create(ctx, s.request)
		if err == nil {
			s.request.ID, s.request.State = answer.ID, answer.State // Verify deletes it.
		}
		return err
	})
	refused, isRefused := errors.AsType[*external.RefusedError](err)
	switch {
	case err == nil:
		return errors.New("Case.LoseAnswer: the answer to Create was not lost; carry out the request and close the " +
			"connection without an answer. Go's HTTP client repeats a request with the header Idempotency-Key if a " +
			"connection that it used before is closed: use external.HTTPCall, or call " +
			"Config.SetKeepAlivesEnabled(false) of the test server")
	case isRefused:
		return fmt.Errorf(
			"after a lost answer, Create must not return a refusal, because the external may exist: %w", refused)
	case errors.Is(err, external.ErrExists):
		return errors.New("after a lost answer, Create must not return ErrExists, which says that nothing was created")
	}
	return s.findsLost(ctx)
}

// createsOnce creates the external.
func (s *subject) createsOnce(ctx context.Context) error {
	return s.once(ctx, func(ctx context.Context) error {
		answer, err := s.driver.Create(ctx, s.request)
		if err != nil {
			return fmt.Errorf("create: %w", err)
		}
		s.request.ID, s.request.State = answer.ID, answer.State
		if answer.Observed == nil {
			return fmt.Errorf("create: %s; return the observed state of the new external", answer.Message)
		}
		return nil
	})
}

// findsLost finds an external as the reconciler does after a lost answer.
func (s *subject) findsLost(ctx context.Context) error {
	switch {
	case s.info.Identifies:
		r := s.request
		r.ID = s.identity()
		if err := s.eventually(ctx, func(ctx context.Context) error {
			_, err := s.driver.Observe(ctx, r)
			return err
		}); err != nil {
			return fmt.Errorf("after a lost answer, Observe must find the external by its identity %q: %w", r.ID, err)
		}
		s.request.ID = r.ID
	case s.info.Finds:
		return s.eventually(ctx, func(ctx context.Context) error {
			id, found, err := s.driver.Find(ctx, s.request)
			if err != nil || !found {
				return fmt.Errorf("after a lost answer, Find must find the external by its token, so Create must store "+
					"r.Token with it, and Find must read all pages of a list; it returned: %w", orNone(err))
			}
			s.request.ID = id
			return nil
		})
	default:
		if err := s.createsOnce(ctx); err != nil {
			return fmt.Errorf("after a lost answer, a second Create with the same token must succeed, because "+
				"Options.IdempotentFor is set: %w", err)
		}
	}
	return nil
}

// repeats checks that a second Create makes no second external, and that Find distinguishes tokens.
func (s *subject) repeats(ctx context.Context) error {
	other, err := s.withToken()
	if err != nil {
		return err
	}
	errs := []error{s.findsNone(ctx, other, "with the token of another external")}
	if s.info.Finds {
		errs = append(errs, s.eventually(ctx, func(ctx context.Context) error {
			id, found, err := s.driver.Find(ctx, s.request)
			if err != nil || !found || id != s.request.ID {
				return fmt.Errorf("Find must find %q by its token; it returned %q, %t: %w", s.request.ID, id, found, orNone(err))
			}
			return nil
		}))
	}
	if s.info.Identifies || s.info.IdempotentFor > 0 {
		errs = append(errs, s.createsSame(ctx))
	}
	if s.info.Identifies {
		errs = append(errs, s.once(ctx, func(ctx context.Context) error {
			if _, err := s.driver.Create(ctx, other); !errors.Is(err, external.ErrExists) {
				return fmt.Errorf("Create must return ErrExists if an external with this identity exists and has another "+
					"token; it returned: %w", orNone(err))
			}
			return nil
		}))
	}
	return errors.Join(errs...)
}

// createsSame checks that Create with the same token does not make another external.
func (s *subject) createsSame(ctx context.Context) error {
	return s.once(ctx, func(ctx context.Context) error {
		r := s.request
		r.ID = ""
		answer, err := s.driver.Create(ctx, r)
		switch {
		case s.info.Identifies && errors.Is(err, external.ErrExists):
			return nil
		case err != nil:
			return fmt.Errorf("a second Create with the same token must return the same external: %w", err)
		case answer.ID != s.request.ID:
			return fmt.Errorf("a second Create with the same token must return %q, and returned %q; send r.Token as the "+
				"idempotency key, or leave Options.IdempotentFor out", s.request.ID, answer.ID)
		}
		return nil
	})
}
