package external

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

// unobservedPoll is the delay before the first poll of a new external whose observed state cannot be used.
const unobservedPoll = time.Second

// driver handles the externals of a Kind. The fields with the optional interfaces are nil if the Kind does not have
// them.
type driver[S, O any] struct {
	kind    Kind[S, O]
	options Options[S]
	info    Info
	calls   calls
	optional[S, O]
}

// optional are the optional interfaces of a Kind.
type optional[S, O any] struct {
	creator    Creator[S, O]
	updater    Updater[S, O]
	deleter    Deleter[S]
	identifier Identifier[S]
	finder     Finder[S]
	tagged     Tagged[O]
	matcher    Matcher[S, O]
	immutable  Immutable[S]
	validator  Validator[S]
	readier    Readier[O]
	poller     Poller[O]
	lister     Lister[O]
}

// Info implements Driver.
func (d *driver[S, O]) Info() Info { return d.info }

// Check implements Driver. The account, the id and the changes are also returned for an invalid spec if they can be
// computed.
func (d *driver[S, O]) Check(r Request) Findings {
	found, err := contained(call{method: "the check of the spec", references: r.References}, func() (Findings, error) {
		return d.check(r), nil
	})
	if err != nil {
		found.Invalid = err
	}
	return found
}

func (d *driver[S, O]) check(r Request) Findings {
	if r.Partial {
		return Findings{Invalid: errors.Join(unknownFields[S](r.Spec)...)}
	}
	spec, unknown, err := decodeSpec[S](r.Spec)
	if err != nil {
		return Findings{Invalid: errors.Join(append(unknown, err)...)}
	}
	problems := unknown
	if d.validator != nil {
		if err := d.validator.Validate(spec); err != nil {
			problems = append(problems, errors.New(readable(err.Error(), r.References)))
		}
	}
	var found Findings
	ref := refOf(r, spec)
	if d.identifier != nil {
		found.ID = d.identifier.Identify(spec)
		if err := checkID(found.ID); err != nil {
			found.ID = ""
			problems = append(problems, fmt.Errorf("the result of Identify: %w", err))
		}
	}
	if d.options.Account != nil {
		found.Account = d.options.Account(ref)
		if len(found.Account) > MaxID || !printable(found.Account) {
			found.Account = ""
			problems = append(problems, fmt.Errorf("Options.Account returned more than %d bytes, or characters that "+
				"cannot be printed", MaxID))
		}
	}
	found.Immutable = d.immutableChanges(r.Applied, spec)
	found.Invalid = errors.Join(problems...)
	return found
}

// immutableChanges returns the changes that no Update makes. An applied spec that cannot be converted any more has no
// known changes.
func (d *driver[S, O]) immutableChanges(text json.RawMessage, desired S) []string {
	if len(text) == 0 {
		return nil
	}
	applied, _, err := decodeSpec[S](text)
	if err != nil {
		return nil
	}
	if d.updater != nil {
		if d.immutable == nil {
			return nil
		}
		return d.immutable.ImmutableChanges(applied, desired)
	}
	before, err := valueOf(applied)
	if err != nil {
		return nil
	}
	after, err := valueOf(desired)
	if err != nil {
		return nil
	}
	return changedPaths("spec", before, after)
}

// Observe implements Driver.
func (d *driver[S, O]) Observe(ctx context.Context, r Request) (Answer, error) {
	ref, err := d.ref(r)
	if err != nil {
		return Answer{}, err
	}
	return run(ctx, &d.calls, d.call("Observe", r, ErrNotFound), func(ctx context.Context) (Answer, error) {
		observed, err := d.kind.Observe(ctx, ref)
		if err != nil {
			return Answer{}, err
		}
		return d.answer(r, ref.Spec, observed)
	})
}

// Create implements Driver. If the observed state of the new external cannot be used, the answer contains no observed
// state, and its message says why: the id of an external that exists must not be lost.
func (d *driver[S, O]) Create(ctx context.Context, r Request) (Answer, error) {
	if d.creator == nil {
		return Answer{}, d.unsupported("Create")
	}
	found := d.Check(r)
	if found.Invalid != nil {
		return Answer{}, Refused(found.Invalid)
	}
	ref, err := d.ref(r)
	if err != nil {
		return Answer{}, err
	}
	ref.ID = ""
	answer, err := run(ctx, &d.calls, d.call("Create", r, ErrExists), func(ctx context.Context) (Answer, error) {
		created, err := d.creator.Create(ctx, ref)
		if err != nil {
			return Answer{}, err
		}
		return d.created(r, ref.Spec, found.ID, created)
	})
	if errors.Is(err, ErrExists) {
		answer.ID = found.ID
	}
	return answer, err
}

// created returns the answer about a new external.
func (d *driver[S, O]) created(r Request, spec S, identity string, created Created[O]) (Answer, error) {
	id := cmp.Or(created.ID, identity)
	if err := errors.Join(checkID(id), checkState(created.State)); err != nil {
		return Answer{}, fmt.Errorf("the external was created, but Create returned a result that cannot be used: %w", err)
	}
	answer, err := contained(d.call("Create", r, nil), func() (Answer, error) {
		return d.answer(r, spec, created.Observed)
	})
	if err != nil {
		text := "the state that Create observed cannot be used: " + err.Error()
		answer = Answer{Message: readable(text, r.References), PollAfter: unobservedPoll}
	}
	answer.ID, answer.State = id, created.State
	return answer, nil
}

// Update implements Driver.
func (d *driver[S, O]) Update(ctx context.Context, r Request) (Answer, error) {
	if d.updater == nil {
		return Answer{}, d.unsupported("Update")
	}
	if found := d.Check(r); found.Invalid != nil {
		return Answer{}, Refused(found.Invalid)
	}
	ref, err := d.ref(r)
	if err != nil {
		return Answer{}, err
	}
	return run(ctx, &d.calls, d.call("Update", r, ErrNotFound), func(ctx context.Context) (Answer, error) {
		observed, err := d.kind.Observe(ctx, ref)
		if err != nil {
			return Answer{}, err
		}
		observed, err = d.updater.Update(ctx, ref, observed)
		if err != nil {
			return Answer{}, err
		}
		return d.answer(r, ref.Spec, observed)
	})
}

// Delete implements Driver. ErrNotFound is no error: Observe shows whether the external does not exist any more.
func (d *driver[S, O]) Delete(ctx context.Context, r Request) error {
	if d.deleter == nil {
		return d.unsupported("Delete")
	}
	ref, err := d.ref(r)
	if err != nil {
		return err
	}
	_, err = run(ctx, &d.calls, d.call("Delete", r, nil), func(ctx context.Context) (struct{}, error) {
		if err := d.deleter.Delete(ctx, ref); !errors.Is(err, ErrNotFound) {
			return struct{}{}, err
		}
		return struct{}{}, nil
	})
	return err
}

// Find implements Driver. If the Find of the Kind returns ErrNotFound, there is no such external, and found is false.
func (d *driver[S, O]) Find(ctx context.Context, r Request) (id string, found bool, err error) {
	if d.finder == nil {
		return "", false, d.unsupported("Find")
	}
	ref, err := d.ref(r)
	if err != nil {
		return "", false, err
	}
	ref.ID = ""
	id, err = run(ctx, &d.calls, d.call("Find", r, nil), func(ctx context.Context) (string, error) {
		id, found, err := d.finder.Find(ctx, ref)
		switch {
		case errors.Is(err, ErrNotFound), err == nil && !found:
			return "", nil
		case err != nil:
			return "", err
		}
		return id, checkID(id)
	})
	return id, id != "", err
}

// List implements Driver. An external whose observed state cannot be used is left out, so that a call of its own
// reports the error.
func (d *driver[S, O]) List(ctx context.Context, a Account, externals []Request) (map[int]Answer, error) {
	if d.lister == nil {
		return nil, d.unsupported("List")
	}
	what := call{method: "List", external: "list " + a.Name, references: a.References}
	if len(externals) > 0 {
		what.external = "list " + identityOf(externals[0])
	}
	return run(ctx, &d.calls, what, func(ctx context.Context) (map[int]Answer, error) {
		listed, err := d.lister.List(ctx, a)
		if err != nil {
			return nil, err
		}
		answers := make(map[int]Answer, len(externals))
		for i, r := range externals {
			observed, found := listed[r.ID]
			if !found || r.ID == "" {
				continue
			}
			answer, err := contained(what, func() (Answer, error) {
				spec, _, err := decodeSpec[S](r.Spec)
				if err != nil {
					return Answer{}, err
				}
				return d.answer(r, spec, observed)
			})
			if err == nil {
				answers[i] = answer
			}
		}
		return answers, nil
	})
}

// answer describes an observed external.
func (d *driver[S, O]) answer(r Request, spec S, observed O) (Answer, error) {
	text, err := json.Marshal(observed)
	if err != nil {
		return Answer{}, fmt.Errorf("the observed state cannot be converted to JSON: %w", err)
	}
	answer := Answer{Ready: true}
	if answer.Observed, err = observedJSON(text); err != nil {
		return Answer{}, err
	}
	if d.tagged != nil {
		answer.Token = d.tagged.Token(observed)
	}
	if answer.Differs, err = d.differs(r, spec, observed, answer.Observed); err != nil {
		return Answer{}, err
	}
	if d.readier != nil {
		answer.Ready, answer.Message = d.readier.Ready(observed)
	}
	if d.poller != nil {
		answer.PollAfter = max(0, d.poller.PollAfter(observed))
	}
	return answer.readable(r.References), nil
}

// readable returns the answer with texts for users.
func (a Answer) readable(references generator.References) Answer {
	a.Differs, a.Message = readable(a.Differs, references), readable(a.Message, references)
	a.Token = shortened(strings.ToValidUTF8(a.Token, "\uFFFD"), MaxID)
	return a
}

// differs compares an observed state with the spec.
func (d *driver[S, O]) differs(r Request, spec S, observed O, text json.RawMessage) (string, error) {
	if d.matcher != nil {
		return d.matcher.Match(spec, observed), nil
	}
	if len(r.Spec) == 0 {
		return "", nil
	}
	set, err := decodeValue(r.Spec)
	if err != nil {
		return "", fmt.Errorf("spec: %w", err)
	}
	converted, err := valueOf(spec)
	if err != nil {
		return "", fmt.Errorf("the spec cannot be converted to JSON: %w", err)
	}
	got, err := decodeValue(text)
	if err != nil {
		return "", err
	}
	return difference(normalised(set, converted), got), nil
}

// ref converts a request. A spec that was applied before may have unknown fields, so they are ignored here; Check
// refuses them in a new spec. The call is refused if the spec cannot be converted.
func (d *driver[S, O]) ref(r Request) (Ref[S], error) {
	what := call{method: "the conversion of the spec", references: r.References}
	ref, err := contained(what, func() (Ref[S], error) {
		spec, _, err := decodeSpec[S](r.Spec)
		return refOf(r, spec), err
	})
	return ref, Refused(err)
}

func refOf[S any](r Request, spec S) Ref[S] {
	return Ref[S]{
		Component: r.Component, Key: r.Key, Spec: spec, ID: r.ID, Token: r.Token, State: r.State, References: r.References,
	}
}

func (d *driver[S, O]) call(method string, r Request, means error) call {
	return call{method: method, external: identityOf(r), means: means, references: r.References}
}

func (d *driver[S, O]) unsupported(method string) error {
	return Refused(fmt.Errorf("the kind %s has no %s", d.info.Kind, method))
}

// identityOf returns a text that is different for different externals.
func identityOf(r Request) string {
	if r.Token != "" {
		return "token " + r.Token
	}
	owner := ""
	if r.Component != nil {
		owner = r.Component.GetNamespace() + "/" + r.Component.GetName()
	}
	return fmt.Sprintf("%s %s %s", owner, r.Key, r.ID)
}
