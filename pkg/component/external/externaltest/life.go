package externaltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// isAsSpecified checks the state of the new external.
func (s *subject) isAsSpecified(ctx context.Context) error {
	return s.eventually(ctx, func(ctx context.Context) error {
		answer, err := s.driver.Observe(ctx, s.request)
		switch {
		case err != nil:
			return fmt.Errorf("observe the new external: %w", err)
		case answer.Token != "" && answer.Token != s.request.Token:
			return errors.New("the new external has another token; Create must store r.Token, and Token must return it")
		case answer.Differs != "":
			return fmt.Errorf("the new external differs from its spec: %s; create it with the whole spec, and write a Match "+
				"if the external system normalises values", answer.Differs)
		}
		return nil
	})
}

// lists checks that the list has the same state as an observation.
func (s *subject) lists(ctx context.Context) error {
	if !s.info.Lists {
		return nil
	}
	return s.eventually(ctx, func(ctx context.Context) error {
		want, err := s.driver.Observe(ctx, s.request)
		if err != nil {
			return fmt.Errorf("observe the external: %w", err)
		}
		answers, err := s.list(ctx, s.References)
		if err != nil {
			return fmt.Errorf("list: %w", err)
		}
		got, found := answers[0]
		if !found {
			return fmt.Errorf("List does not have the external %q; read all pages, and use the ids of Create as keys",
				s.request.ID)
		}
		if difference := gocmp.Diff(textOf(want), textOf(got)); difference != "" {
			return fmt.Errorf("List must return the same state as Observe (-Observe +List):\n%s", difference)
		}
		return nil
	})
}

func (s *subject) list(ctx context.Context, references generator.References) (map[int]external.Answer, error) {
	account := external.Account{Name: s.driver.Check(s.request).Account, References: references}
	return s.driver.List(ctx, account, []external.Request{s.request})
}

// textOf returns the parts of an answer that do not depend on the time.
func textOf(a external.Answer) map[string]any {
	var state any
	_ = json.Unmarshal(a.Observed, &state) // Drivers return valid JSON.
	return map[string]any{"observed": state, "token": a.Token, "differs": a.Differs, "ready": a.Ready}
}

// updates changes the external twice.
func (s *subject) updates(ctx context.Context) error {
	if s.changed == nil || !s.info.Updates {
		return nil
	}
	r := s.changedTo(s.changed)
	if found := s.driver.Check(r).Immutable; len(found) > 0 {
		return fmt.Errorf("Case.Changed: %q cannot be changed; change other fields", found)
	}
	errs := []error{s.once(ctx, func(ctx context.Context) error {
		answer, err := s.driver.Observe(ctx, r)
		if err == nil && answer.Differs == "" {
			err = errors.New("the external does not differ from Case.Changed before its update, so a drift would not be " +
				"noticed; return the field in the observed state, and compare it in Match, if there is one")
		}
		return err
	})}
	for _, which := range []string{"the update", "a repeated update"} {
		if err := s.once(ctx, func(ctx context.Context) error {
			_, err := s.driver.Update(ctx, r)
			return err
		}); err != nil {
			return errors.Join(append(errs, fmt.Errorf("%s: %w", which, err))...)
		}
		errs = append(errs, s.eventually(ctx, func(ctx context.Context) error {
			answer, err := s.driver.Observe(ctx, r)
			if err == nil && answer.Differs != "" {
				err = fmt.Errorf("after %s the external differs: %s; apply the whole spec, and write a Match if the external "+
					"system ignores or normalises values", which, answer.Differs)
			}
			return err
		}))
	}
	return errors.Join(errs...)
}

// reportsImmutable checks that a change of an immutable field is reported.
func (s *subject) reportsImmutable(ctx context.Context) error {
	spec := s.immutable
	if spec == nil && !s.info.Updates {
		spec = s.changed
	}
	if spec == nil {
		return nil
	}
	r := s.changedTo(spec)
	return s.once(ctx, func(ctx context.Context) error {
		// The driver of a service reads immutable changes from the last answer of the service.
		if _, err := s.driver.Observe(ctx, r); err != nil {
			return fmt.Errorf("observe the external with Case.Immutable: %w; Observe must use r.ID, because r.Spec is the "+
				"desired spec", err)
		}
		if len(s.driver.Check(r).Immutable) == 0 {
			return errors.New("the changes in Case.Immutable are not reported; write ImmutableChanges, for example with " +
				"external.Changed")
		}
		return nil
	})
}

// refusesCredentials checks the errors of calls with wrong credentials.
func (s *subject) refusesCredentials(ctx context.Context) error {
	if s.WrongReferences == nil {
		return nil
	}
	fresh, err := s.withToken()
	if err != nil {
		return err
	}
	fresh.ID, fresh.References = "", s.WrongReferences
	r := s.request
	r.References = s.WrongReferences
	calls := []struct {
		method string
		is     bool
		call   func(context.Context) error
	}{
		{"Observe", true, func(ctx context.Context) error { _, err := s.driver.Observe(ctx, r); return err }},
		{"Create", true, func(ctx context.Context) error { _, err := s.driver.Create(ctx, fresh); return err }},
		{"Update", s.info.Updates, func(ctx context.Context) error { _, err := s.driver.Update(ctx, r); return err }},
		{"Delete", s.info.Deletes, func(ctx context.Context) error { return s.driver.Delete(ctx, r) }},
		{"Find", s.info.Finds, func(ctx context.Context) error { _, _, err := s.driver.Find(ctx, r); return err }},
		{"List", s.info.Lists, func(ctx context.Context) error { _, err := s.list(ctx, s.WrongReferences); return err }},
	}
	var errs []error
	for _, c := range calls {
		if !c.is {
			continue
		}
		err := s.once(ctx, c.call)
		_, refused := errors.AsType[*external.RefusedError](err)
		switch {
		case err == nil || errors.Is(err, external.ErrNotFound):
			errs = append(errs, fmt.Errorf("with wrong credentials, %s must return an error that is not ErrNotFound, because "+
				"the external may exist; it returned: %w", c.method, orNone(err)))
		case c.method == "Create" && !refused:
			errs = append(errs, fmt.Errorf("with wrong credentials, Create must return a refusal, because nothing was "+
				"created; mark this error by external.Refused: %w", err))
		}
	}
	return errors.Join(errs...)
}

// deletes deletes the external, and checks that no method finds it.
func (s *subject) deletes(ctx context.Context) error {
	if !s.info.Deletes {
		return nil
	}
	var errs []error
	remove := func(which string) error {
		return s.once(ctx, func(ctx context.Context) error {
			if err := s.driver.Delete(ctx, s.request); err != nil {
				return fmt.Errorf("%s: Delete must be repeatable, and return nil or ErrNotFound for an external that does "+
					"not exist: %w", which, err)
			}
			return nil
		})
	}
	errs = append(errs, remove("the deletion"), remove("a repeated deletion"))
	if err := s.eventually(ctx, func(ctx context.Context) error {
		return s.isNotFound(ctx, s.request.ID, "after the deletion")
	}); err != nil {
		return errors.Join(append(errs, err)...)
	}
	errs = append(errs, remove("a deletion of a deleted external"))
	if s.info.Updates {
		if err := s.once(ctx, func(ctx context.Context) error {
			_, err := s.driver.Update(ctx, s.request)
			return err
		}); err == nil {
			errs = append(errs, errors.New("Update must return ErrNotFound for an external that was deleted"))
		}
	}
	errs = append(errs, s.isNotFound(ctx, s.request.ID, "after an update of a deleted external"))
	errs = append(errs, s.eventually(ctx, func(ctx context.Context) error {
		return s.findsNone(ctx, s.request, "after the deletion")
	}))
	return errors.Join(append(errs, s.eventually(ctx, s.listsNone))...)
}

// listsNone checks that the list does not have the external.
func (s *subject) listsNone(ctx context.Context) error {
	if !s.info.Lists {
		return nil
	}
	answers, err := s.list(ctx, s.References)
	if err == nil && len(answers) > 0 {
		err = errors.New("the external was deleted, and List still has it")
	}
	return err
}
