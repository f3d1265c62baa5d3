package preview

import (
	"context"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/protect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// simulation makes all plans for a component, without writes. simulation carries out actions as dry runs. An action
// that depends on an earlier action cannot be a dry run, because the earlier action was not really carried out. The
// simulation assumes that such an action succeeds.
type simulation struct {
	client    *target.Client
	protector *protect.Protector
	planner   func(plan.Facts) plan.Plan
	binder    applier.Binder
	externals recordedExternals
	asked     applier.Asked
	applier   *applier.Applier
	facts     plan.Facts
	evaluate  applier.ReadyFunc
	// recorded are all dependents of the simulation so far. Dependents that the simulation has deleted are included,
	// because the API server still lists them.
	recorded plan.Inventory
	// written are the objects whose state is simulated.
	written map[manifests.Key]bool
	// away are the objects that the simulation has deleted. namespaces and types are the namespaces and types that it
	// has created.
	away       map[manifests.Key]bool
	namespaces map[string]bool
	types      []manifests.ManagedType
	// mutated is set if the simulation has written a webhook or a policy that changes objects at admission.
	mutated bool
	// waited are the waits whose end was simulated, by object and reason.
	waited map[string]bool
	// unbound are the objects whose missing values were simulated.
	unbound map[manifests.Key]bool
	// leftOut and unserved are the objects of types that are not served: those that were never applied, and those with an
	// entry in the inventory. conditional are the objects whose conditions have no value.
	// The simulation goes on without them.
	leftOut, unserved, conditional map[manifests.Key]bool
	// touched are the dependents with a step or a failure in the forecast, and those whose writes are not known.
	touched map[manifests.Key]bool
	// adopting are the steps of adoptions whose last dry run failed, although the write may succeed later.
	adopting map[manifests.Key]result.Step
	// renewed are the exports that the rendering asked for, if a value differs. The simulation then ends, because the
	// dependents must be rendered again.
	renewed []metav1alpha1.AskedExport
	// checked returns what is known about manifests before they are written; see applier.Validate.
	checked func(context.Context, plan.Facts, []plan.Action) (applier.Validation, error)
	turn    int
	held    bool
	// blockersOnly ends the simulation before the first simulated write.
	blockersOnly bool
	forecast     result.Forecast
}

// run makes a plan and simulates its actions or the end of its waits, and repeats this until a plan contains no action
// and no new wait.
func (r *simulation) run(ctx context.Context) error {
	checked := map[manifests.Key]bool{}
	for {
		r.facts.Live = r.snapshot()
		r.bind(ctx)
		if r.renewed != nil {
			return nil
		}
		decided := r.planner(r.facts)
		if again, err := r.validate(ctx, decided); again || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		r.facts.Inventory, r.facts.Repairs = decided.Inventory, decided.Repairs
		maps.Copy(r.recorded, decided.Inventory)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case r.blockersOnly && slices.ContainsFunc(decided.Actions, changes):
			return nil
		case len(decided.Actions) > 0:
			if r.protector.Check(ctx, r.asListed(), decided, checked) {
				continue
			}
			clear(checked)
			r.carryOut(ctx, decided)
		case r.nameOwners(ctx, decided):
		case len(decided.Blocked) > 0:
			r.forecast.Blocked = applier.OutcomeOf(decided, nil).Blocked
			r.touchUnplanned(decided)
			return nil
		case !r.wait(decided):
			r.touchUnplanned(decided)
			return nil
		}
	}
}

// touchUnplanned marks the objects that the last plan did not reach, because it waits for something that does not end
// in the simulation, and that do not have their manifests. Their writes are not known, so they do not count as
// unchanged.
func (r *simulation) touchUnplanned(last plan.Plan) {
	if len(last.Waiting) == 0 && len(last.Blocked) == 0 {
		return
	}
	for i := range r.facts.Desired {
		o := &r.facts.Desired[i]
		if r.unbound[o.Key] {
			continue
		}
		if last.Inventory[o.Key].Digest != o.Digest || r.facts.Live.Of(o.Key).Presence != plan.Present {
			r.touched[o.Key] = true
		}
	}
}

// nameOwners asks for the right to name the owners of objects, and reports whether there are new answers.
func (r *simulation) nameOwners(ctx context.Context, decided plan.Plan) bool {
	var asked bool
	r.facts.Names, asked = r.applier.NameOwners(ctx, r.client, r.facts, decided)
	return asked
}

// validate checks the manifests of a plan before its first write, as a pass does. If some are invalid, a pass writes
// nothing, so all steps are held, and the plan is made again with the failures.
func (r *simulation) validate(ctx context.Context, decided plan.Plan) (again bool, err error) {
	if !r.facts.Validate || !decided.Writes() || r.blockersOnly {
		return false, nil
	}
	if reads := decided.Unread(); len(reads) > 0 {
		r.carryOut(ctx, plan.Plan{Actions: reads, Phase: decided.Phase})
		return true, nil
	}
	r.facts.Validate = false
	found, err := r.checked(ctx, r.facts, decided.Unapplied)
	if err != nil {
		return false, err
	}
	r.facts.Refused, r.forecast.Dropped = found.Refused, found.Dropped
	r.held = r.held || len(r.facts.Refused) > 0
	return len(r.facts.Refused) > 0, nil
}

// changes reports whether an action changes an object or sets a guard.
func changes(a plan.Action) bool { return a.Verb.Writes() || a.Verb.Guards() }

// asListed returns the facts for a comparison with lists of the API server. The inventory of these facts includes the
// dependents that the simulation has deleted, because these dependents still exist on the API server.
func (r *simulation) asListed() plan.Facts {
	f := r.facts
	f.Inventory = r.recorded
	return f
}

// snapshot returns the simulated state of objects that the simulation has written, and the live state of all other
// objects.
func (r *simulation) snapshot() plan.Snapshot {
	snapshot := applier.Snapshot(r.client, r.externals, r.evaluate, r.asListed())
	for key, o := range snapshot {
		switch result := r.facts.Results[key]; {
		case r.written[key] && result.Observed != nil:
			snapshot[key] = result.Observed
		case o.Presence == plan.Unknown && o.Reason == plan.WaitNotServed && r.defined(key):
			snapshot[key] = &plan.Observed{Presence: plan.Absent, Confirmed: true}
		}
	}
	return snapshot
}

// defined reports whether the simulation has created the definition of an object's type.
func (r *simulation) defined(key manifests.Key) bool {
	return slices.ContainsFunc(r.types, func(t manifests.ManagedType) bool { return t.Matches(key.GroupKind()) })
}

// carryOut makes dry runs of the actions of a plan, and adds their results to the facts and the forecast.
func (r *simulation) carryOut(ctx context.Context, p plan.Plan) {
	answers := make([]asked, len(p.Actions))
	var asking errgroup.Group
	asking.SetLimit(parallelRequests)
	for i, a := range p.Actions {
		asking.Go(func() error {
			answers[i] = r.ask(ctx, a)
			return nil
		})
	}
	_ = asking.Wait()
	writes := false
	for i, a := range p.Actions {
		if a.Verb.Guards() {
			r.guard(a)
			continue
		}
		if !writes && a.Verb.Writes() {
			r.turn++
			writes = true
		}
		r.learn(a, p.Phase, answers[i])
	}
	if steps := r.forecast.Steps; writes && (len(steps) == 0 || steps[len(steps)-1].Turn != r.turn) {
		// All writes were refused, or must be planned again. So this turn has no step, and the next turn gets the same
		// number.
		r.turn--
	}
}

// guard simulates an action on the admission guard.
func (r *simulation) guard(a plan.Action) {
	if a.Verb == plan.VerbUnguard {
		r.facts.Guard = plan.Guard{Name: r.facts.Guard.Name, Owner: r.facts.Guard.Owner}
	} else {
		r.facts.Guard = simulateGuarded(r.facts.Guard, a, r.facts.Now)
	}
	r.facts.Results[a.Key] = plan.Result{Verb: a.Verb}
}

// learn adds the result of an action to the facts. If the action is a write, learn also adds a step to the forecast.
func (r *simulation) learn(a plan.Action, phase manifests.Phase, answer asked) {
	if a.Verb == plan.VerbRead && answer.Failure != nil && !slices.Contains(r.forecast.Unread, a.Key) {
		r.forecast.Unread = append(r.forecast.Unread, a.Key)
	}
	if a.Verb == plan.VerbTryDelete {
		applier.Fold(r.facts.Results, a, plan.Result{Verb: a.Verb}, nil)
		return
	}
	if answer.Verb != "" && (answer.Failure != nil || answer.Verb != a.Verb || a.Verb == plan.VerbRead) {
		applier.Fold(r.facts.Results, a, answer.Result, nil)
		r.learnUnchecked(a, phase, answer)
		return
	}
	was := r.facts.Live.Of(a.Key)
	var now plan.Observed
	switch {
	case a.Verb == plan.VerbDelete:
		now, r.away[a.Key] = simulateDeleted(was), true
	case a.Verb == plan.VerbOrphan:
		now = simulateReleased(was)
	case answer.Observed != nil:
		now = simulateReady(*answer.Observed)
		r.begins(a)
	default:
		now = simulateApplied(a, was)
		r.begins(a)
	}
	r.written[a.Key], r.touched[a.Key] = true, true
	delete(r.adopting, a.Key)
	applier.Fold(r.facts.Results, a, plan.Result{Verb: a.Verb, Observed: &now}, nil)
	r.enter(r.step(a, phase, answer))
}

// learnUnchecked keeps the step of an adoption whose dry run failed for a reason that may not hold for the operator.
func (r *simulation) learnUnchecked(a plan.Action, phase manifests.Phase, answer asked) {
	if f := answer.Failure; f != nil && a.Reason.Adopts() && !f.Inherent() {
		answer.unchecked = string(f.Reason) + ": " + f.Message
		r.adopting[a.Key] = r.step(a, phase, answer)
	}
}

// enter adds a step to the forecast. The create of a recreated object is added to the existing step of its delete.
func (r *simulation) enter(s result.Step) {
	previous := slices.IndexFunc(
		r.forecast.Steps,
		func(f result.Step) bool { return f.Key == s.Key && f.Effect == result.EffectRecreate && f.After == nil },
	)
	if s.Effect == result.EffectPurge || s.Effect == result.EffectDelete || s.Effect == result.EffectRecreate {
		r.markDeleted(s.Key)
	}
	if previous >= 0 {
		r.forecast.Steps[previous].After, r.forecast.Steps[previous].Manifest = s.After, s.Manifest
		return
	}
	r.forecast.Steps = append(r.forecast.Steps, s)
}

// markDeleted notes that a later step deletes an object that an earlier step adopts.
func (r *simulation) markDeleted(key manifests.Key) {
	for _, s := range r.forecast.Steps {
		if s.Key == key && s.Adopts != nil {
			s.Adopts.Deleted = true
		}
	}
}

// enterAdoption adds the step of an adoption whose dry run failed. The adoption is made as soon as the failure is
// corrected, so a person must know it before.
func (r *simulation) enterAdoption(w plan.Waiting) {
	if s, ok := r.adopting[w.Key]; ok && w.Failure != nil && !w.Failure.Inherent() {
		delete(r.adopting, w.Key)
		r.enter(s)
	}
}

// begins notes the namespace and the types that an action creates, and whether it changes the admission of others.
func (r *simulation) begins(a plan.Action) {
	if plan.IsNamespace(a.Key) && a.Preconditions.UID == "" {
		r.namespaces[a.Key.Name] = true
	}
	if a.Object != nil {
		r.types = append(r.types, a.Object.Types...)
		r.mutated = r.mutated || mutates(a.Key.GroupKind())
	}
}

// dependenciesOf returns the dependencies of the object of an action: those of its manifest, or the recorded ones.
func (r *simulation) dependenciesOf(a plan.Action) []string {
	list := r.recorded[a.Key].DependsOn
	if a.Object != nil {
		list = a.Object.DependsOn()
	}
	if list == "" {
		return nil
	}
	return strings.Split(list, ", ")
}

func (r *simulation) step(a plan.Action, phase manifests.Phase, answer asked) result.Step {
	s := result.Step{
		Change: outcome.ChangeOf(
			a,
		), Effect: effectOf(a), Turn: r.turn, Phase: phase, Held: r.held, Unchecked: answer.unchecked,
		Before: answer.Before, After: answer.After, DependsOn: r.dependenciesOf(a), Adopts: adoptionOf(a, answer),
	}
	if a.Object == nil || a.Verb == plan.VerbDelete {
		return s
	}
	s.Manifest = a.Object
	if whole, err := a.Object.Whole(); err == nil && s.After == nil {
		s.After = whole.Body
	}
	return s
}
