package preview

import (
	"context"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/protect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// simulation runs through all plans of a component without writes. Its actions are dry runs. An action cannot be a dry
// run if it depends on an earlier action, because that was not really carried out. Such an action counts as done.
type simulation struct {
	client    *target.Client
	protector *protect.Protector
	planner   func(plan.Facts) plan.Plan
	facts     plan.Facts
	// recorded are all dependents of the simulation so far, also those that it has deleted: lists of the API server still
	// have them.
	recorded plan.Inventory
	// written are the objects whose state is simulated.
	written map[manifests.Key]bool
	// away are the objects that would be deleted by now; namespaces and types are those that would exist by now.
	away       map[manifests.Key]bool
	namespaces map[string]bool
	types      []manifests.ManagedType
	// waited are the waits that count as over, by the object and the reason.
	waited map[string]bool
	// touched are the dependents with a step or a failure.
	touched map[manifests.Key]bool
	turn    int
	held    bool
	// blockersOnly ends the simulation before the first simulated write.
	blockersOnly bool
	forecast     Forecast
}

// run plans and simulates in turns, until there is nothing left to do, and every wait counts as over.
func (r *simulation) run(ctx context.Context) error {
	checked := map[manifests.Key]bool{}
	for {
		r.facts.Live = r.snapshot()
		decided := r.planner(r.facts)
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
		case len(decided.Blocked) > 0:
			r.forecast.Blocked = applier.OutcomeOf(decided, nil).Blocked
			return nil
		case !r.wait(decided):
			return nil
		}
	}
}

// changes reports whether an action changes an object or sets a guard.
func changes(a plan.Action) bool { return a.Verb.Writes() || a.Verb.Guards() }

// asListed returns the facts to compare with lists of the API server. Its inventory has the dependents that the
// simulation deleted, too, because on the API server they still exist.
func (r *simulation) asListed() plan.Facts {
	f := r.facts
	f.Inventory = r.recorded
	return f
}

// snapshot returns the simulated state of the objects, and the live state of the others.
func (r *simulation) snapshot() plan.Snapshot {
	snapshot := applier.Snapshot(r.client, r.asListed())
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

// defined reports whether the type of an object would exist by now.
func (r *simulation) defined(key manifests.Key) bool {
	return slices.ContainsFunc(r.types, func(t manifests.ManagedType) bool { return t.Matches(key.GroupKind()) })
}

// carryOut makes dry runs of the actions of a plan, and enters their results.
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
		// All writes were refused, or are planned again, so this turn has no step.
		r.turn--
	}
}

// guard simulates that a guard is set up or removed.
func (r *simulation) guard(a plan.Action) {
	if a.Verb == plan.VerbUnguard {
		r.facts.Guard = plan.Guard{Name: r.facts.Guard.Name}
	} else {
		r.facts.Guard = simulateGuarded(r.facts.Guard, a, r.facts.Now)
	}
	r.facts.Results[a.Key] = plan.Result{Verb: a.Verb}
}

// learn enters the result of an action into the facts, and a write into the forecast.
func (r *simulation) learn(a plan.Action, phase manifests.Phase, answer asked) {
	if a.Verb == plan.VerbRead && answer.Failure != nil && !slices.Contains(r.forecast.Unread, a.Key) {
		r.forecast.Unread = append(r.forecast.Unread, a.Key)
	}
	if answer.Verb != "" && (answer.Failure != nil || answer.Verb != a.Verb || a.Verb == plan.VerbRead) {
		applier.Fold(r.facts.Results, a, answer.Result, nil)
		return
	}
	was := r.facts.Live.Of(a.Key)
	var now plan.Observed
	switch {
	case a.Verb == plan.VerbDelete:
		now, r.away[a.Key] = simulateGone(was), true
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
	applier.Fold(r.facts.Results, a, plan.Result{Verb: a.Verb, Observed: &now}, nil)
	r.enter(r.step(a, phase, answer))
}

// enter adds a step to the forecast. The create of a recreated object belongs to the step of its delete.
func (r *simulation) enter(s Step) {
	former := slices.IndexFunc(
		r.forecast.Steps,
		func(f Step) bool { return f.Key == s.Key && f.Effect == EffectRecreate && f.After == nil },
	)
	if former >= 0 {
		r.forecast.Steps[former].After, r.forecast.Steps[former].Manifest = s.After, s.Manifest
		return
	}
	r.forecast.Steps = append(r.forecast.Steps, s)
}

// begins notes the namespace and the types that exist after an action.
func (r *simulation) begins(a plan.Action) {
	if plan.IsNamespace(a.Key) && a.Preconditions.UID == "" {
		r.namespaces[a.Key.Name] = true
	}
	if a.Object != nil {
		r.types = append(r.types, a.Object.Types...)
	}
}

func (r *simulation) step(a plan.Action, phase manifests.Phase, answer asked) Step {
	s := Step{
		Change: applier.ChangeOf(
			a,
		), Effect: effectOf(a), Turn: r.turn, Phase: phase, Held: r.held, Unchecked: answer.unchecked,
		Before: answer.Before, After: answer.After,
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
