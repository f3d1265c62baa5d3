package component

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// rehearsal goes through all plans of a component without writing. Each plan is the engine's own; its actions are carried out as dry runs where
// the API server can tell, and taken for done where it cannot, because they build on others that were not really done.
type rehearsal struct {
	engine  *Engine
	pass    Pass
	planner func(plan.Facts) plan.Plan
	facts   plan.Facts
	// recorded are all that were dependents at any time: lists of the API server still show what the rehearsal has deleted.
	recorded plan.Inventory
	// written are those whose state is that of the facts' results, whatever a watch says.
	written map[manifests.Key]bool
	// away are those that would have been deleted by now, and namespaces and types those that would exist by now.
	away       map[manifests.Key]bool
	namespaces map[string]bool
	types      []manifests.ManagedType
	// waited are the waits that were taken for over.
	waited map[string]bool
	// touched are the dependents that a step is about, or a failure.
	touched  map[manifests.Key]bool
	turn     int
	held     bool
	forecast Forecast
}

// rehearse returns what a pass, and those that follow it, would do. Wake must have been given to the pass by the caller, and is received from
// wakes while watches have not delivered yet.
func (e *Engine) rehearse(ctx context.Context, p Pass, planner func(plan.Facts) plan.Plan, wakes <-chan struct{}) (Forecast, error) {
	facts, err := e.awaitFacts(ctx, p, wakes)
	if err != nil {
		return Forecast{}, err
	}
	r := &rehearsal{
		engine: e, pass: p, planner: planner, facts: facts, recorded: maps.Clone(facts.Inventory),
		written: map[manifests.Key]bool{}, away: map[manifests.Key]bool{}, namespaces: map[string]bool{},
		waited: map[string]bool{}, touched: map[manifests.Key]bool{},
	}
	if err := r.run(ctx); err != nil {
		return Forecast{}, err
	}
	r.forecast.Desired = len(p.Desired)
	for _, o := range p.Desired {
		if !r.touched[o.Key] {
			r.forecast.Unchanged++
		}
	}
	return r.forecast, nil
}

// maxFirstLists is how long a person waits for what a reconciler would go on waiting for.
const maxFirstLists = time.Minute

// awaitFacts waits for the watches.
func (e *Engine) awaitFacts(ctx context.Context, p Pass, wakes <-chan struct{}) (plan.Facts, error) {
	late := time.After(maxFirstLists)
	for {
		if facts, ok := e.facts(ctx, p); ok {
			return facts, nil
		}
		select {
		case <-wakes:
		case <-ctx.Done():
			return plan.Facts{}, ctx.Err()
		case <-late:
			message := fmt.Sprintf("the API server has not listed the dependents for %s; try again", maxFirstLists)
			return plan.Facts{}, &condition.Error{Reason: metav1alpha1.ReasonRetrying, Message: message}
		}
	}
}

// run plans and pretends by turns, until there is nothing left to do, and nothing to wait for that has not been waited for.
func (r *rehearsal) run(ctx context.Context) error {
	checked := map[manifests.Key]bool{}
	for {
		r.facts.Live = r.snapshot()
		decided := r.planner(r.facts)
		r.facts.Inventory, r.facts.Repairs = decided.Inventory, decided.Repairs
		maps.Copy(r.recorded, decided.Inventory)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case len(decided.Actions) > 0:
			if r.engine.check(ctx, r.asListed(), decided, checked) {
				continue
			}
			clear(checked)
			r.carryOut(ctx, decided)
		case len(decided.Blocked) > 0:
			r.forecast.Blocked = publicBlocked(outcomeOf(decided, nil).Blocked)
			return nil
		case !r.wait(decided):
			return nil
		}
	}
}

// asListed returns the facts for looking at what the API server lists: there, nothing has been deleted yet.
func (r *rehearsal) asListed() plan.Facts {
	f := r.facts
	f.Inventory = r.recorded
	return f
}

// snapshot returns the state of the objects that a plan, or a look at what the API server lists, is made from.
func (r *rehearsal) snapshot() plan.Snapshot {
	snapshot := r.engine.snapshot(r.asListed())
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

// defined says that the type of an object would exist by now.
func (r *rehearsal) defined(key manifests.Key) bool {
	return slices.ContainsFunc(r.types, func(t manifests.ManagedType) bool { return t.Matches(key.GroupKind()) })
}

// carryOut takes the actions of a plan for done, after asking the API server where it can tell.
func (r *rehearsal) carryOut(ctx context.Context, p plan.Plan) {
	rehearsed := make([]asked, len(p.Actions))
	var asking errgroup.Group
	asking.SetLimit(treeReaders)
	for i, a := range p.Actions {
		asking.Go(func() error {
			rehearsed[i] = r.ask(ctx, a)
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
		r.learn(a, p.Phase, rehearsed[i])
	}
	if writes && len(r.forecast.Steps) > 0 && r.forecast.Steps[len(r.forecast.Steps)-1].Turn != r.turn {
		// All of them were refused, or are to be planned again.
		r.turn--
	}
}

// guard takes a guard for set up, or removed.
func (r *rehearsal) guard(a plan.Action) {
	if a.Verb == plan.VerbUnguard {
		r.facts.Guard = plan.Guard{Name: r.facts.Guard.Name}
	} else {
		r.facts.Guard = pretendGuarded(r.facts.Guard, a, r.facts.Now)
	}
	r.facts.Results[a.Key] = plan.Result{Verb: a.Verb}
}

// learn enters what came of an action into the facts, and a write into the forecast.
func (r *rehearsal) learn(a plan.Action, phase manifests.Phase, answer asked) {
	if a.Verb == plan.VerbRead && answer.Failure != nil && !slices.Contains(r.forecast.Unread, a.Key) {
		r.forecast.Unread = append(r.forecast.Unread, a.Key)
	}
	if answer.Verb != "" && (answer.Failure != nil || answer.Verb != a.Verb || a.Verb == plan.VerbRead) {
		fold(r.facts.Results, a, answer.Result, nil)
		return
	}
	was := r.facts.Live.Of(a.Key)
	var now plan.Observed
	switch {
	case a.Verb == plan.VerbDelete:
		now, r.away[a.Key] = pretendGone(was), true
	case a.Verb == plan.VerbOrphan:
		now = pretendReleased(was)
	case answer.Observed != nil:
		now = pretendReady(*answer.Observed)
		r.begins(a)
	default:
		now = pretendApplied(a, was)
		r.begins(a)
	}
	r.written[a.Key], r.touched[a.Key] = true, true
	fold(r.facts.Results, a, plan.Result{Verb: a.Verb, Observed: &now}, nil)
	r.enter(r.step(a, phase, answer))
}

// enter adds a step to the forecast. What creates an object anew belongs to the step that deletes it.
func (r *rehearsal) enter(s Step) {
	former := slices.IndexFunc(r.forecast.Steps, func(f Step) bool { return f.Key == s.Key && f.Effect == EffectRecreate && f.After == nil })
	if former >= 0 {
		r.forecast.Steps[former].After, r.forecast.Steps[former].Manifest = s.After, s.Manifest
		return
	}
	r.forecast.Steps = append(r.forecast.Steps, s)
}

// begins notes what exists once an action is done, and others build on.
func (r *rehearsal) begins(a plan.Action) {
	if plan.IsNamespace(a.Key) && a.Preconditions.UID == "" {
		r.namespaces[a.Key.Name] = true
	}
	if a.Object != nil {
		r.types = append(r.types, a.Object.Types...)
	}
}

func (r *rehearsal) step(a plan.Action, phase manifests.Phase, answer asked) Step {
	s := Step{
		Change: Change(changeOf(a)), Effect: effectOf(a), Turn: r.turn, Phase: phase, Held: r.held, Unchecked: answer.unchecked,
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
