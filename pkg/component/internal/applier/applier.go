package applier

import (
	"context"
	"maps"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/metrics"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/protect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/component/internal/telemetry"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Options configure an Applier.
type Options struct {
	// Reconciler is the name of the reconciler.
	Reconciler string
	// Policies are the defaults for dependents whose manifests and Request set no policies. All fields must be set.
	Policies metav1alpha1.Policies
	// PreviousManagers are the field managers of other tools, whose fields the reconciler takes over.
	PreviousManagers []string
	// Incidental are objects that do not block the deletion of their namespace.
	Incidental []protect.Incidental
	Monitor    telemetry.Monitor
}

// Applier applies and deletes sets of dependents. Between passes it keeps only the guards and the repairs of each owner
// in memory. Applier is safe for concurrent use by different owners.
type Applier struct {
	options Options
	state   state
}

// New returns an Applier.
func New(o Options) *Applier { return &Applier{options: o} }

// DefaultDeletePolicy returns the delete policy of dependents whose manifests set no delete policy.
func (a *Applier) DefaultDeletePolicy() metav1alpha1.DeletePolicy {
	return plan.DefaultDeletePolicy(a.options.Policies.Reconcile, a.options.Policies.Delete)
}

// Apply creates, updates and prunes dependents until they match the apply set, as far as possible without waiting.
func (a *Applier) Apply(ctx context.Context, client *target.Client, r Request) (outcome.Outcome, error) {
	return a.run(ctx, client, r, plan.ForApply)
}

// Delete deletes the dependents in the inventory, as far as possible without waiting.
func (a *Applier) Delete(ctx context.Context, client *target.Client, r Request) (outcome.Outcome, error) {
	return a.run(ctx, client, r.ForDelete(), plan.ForDelete)
}

// ForDelete returns the request for the deletion of all dependents: the apply set is empty.
func (r Request) ForDelete() Request {
	r.Desired, r.deleting = nil, true
	return r
}

// Plan returns the first writes that Apply would make, as the Changes of the outcome. Plan writes nothing.
func (a *Applier) Plan(ctx context.Context, client *target.Client, r Request) outcome.Outcome {
	facts, ok := a.Watch(ctx, client, r)
	if !ok {
		return outcome.Outcome{Outcome: result.Outcome{Inventory: r.Inventory, Observing: true}}
	}
	decided := plan.ForApply(a.Binder(r).Bind(ctx, facts))
	var changes []result.Change
	for _, action := range decided.Actions {
		if action.Verb.Writes() {
			changes = append(changes, outcome.ChangeOf(action))
		}
	}
	return OutcomeOf(decided, changes)
}

// Protector returns the Protector of a request for the cluster of a client.
func (a *Applier) Protector(client *target.Client, r Request) *protect.Protector {
	var accepted []string
	if r.deleting {
		accepted = r.AcceptUnknown
	}
	return protect.New(client, a.options.Incidental, accepted)
}

// Forget drops the state that the applier keeps for an owner. If a guard is left, the GuardCollector removes it.
func (a *Applier) Forget(owner manifests.Owner) { a.state.forget(owner.ID()) }

// run makes a plan, executes its actions, and repeats this until a plan contains no actions.
func (a *Applier) run(
	ctx context.Context, client *target.Client, r Request, planner func(plan.Facts) plan.Plan,
) (outcome.Outcome, error) {
	a.state.begin(r.Owner.ID())
	defer a.state.end(r.Owner.ID())
	facts, ok := a.Watch(ctx, client, r)
	if !ok {
		return outcome.Outcome{Outcome: result.Outcome{Inventory: r.Inventory, Observing: true}}, nil
	}
	finished, changes := r.externals().Finished()
	maps.Copy(facts.Results, finished)
	protector, checked := a.Protector(client, r), map[manifests.Key]bool{}
	binder, asked := a.Binder(r), a.Asked(r)
	prep := preparation{unwritten: r.Unrecorded}
	waves := a.options.Monitor.Waves()
	defer waves.End()
	confirmed := false
	facts.Validate = r.appliesNew()
	var err error
	for {
		facts = binder.Bind(ctx, facts)
		var renewed []metav1alpha1.AskedExport
		if renewed, facts.Open = asked.Compare(facts); renewed != nil {
			return a.outdated(client, renewed, facts, changes, prep), nil
		}
		facts.Desired = asked.Hold(facts)
		decided := a.plan(planner, facts)
		if reads := decided.Unread(); len(reads) > 0 {
			if changes, err = a.carryOut(ctx, client, waves, r, &facts, reads, changes); err != nil {
				return cut(prep, facts, changes), err
			}
			continue
		}
		if again, err := a.validateOnce(ctx, client, r, &facts, decided); again {
			continue
		} else if err != nil {
			return cut(prep, facts, changes), err
		}
		facts.Inventory, facts.Repairs = decided.Inventory, decided.Repairs
		prep.unwritten = prep.unwritten || decided.WriteInventory
		if len(decided.Actions) == 0 {
			if newer, ok := a.newer(ctx, client, r, facts, decided, confirmed); ok {
				facts, confirmed = newer, true
				continue
			}
			return a.end(client, r, facts, decided, changes, prep), nil
		}
		confirmed = false
		if protector.Check(ctx, facts, decided, checked) {
			facts.Live = Snapshot(client, r.externals(), r.ReadyFunc, facts)
			continue
		}
		recorded, err := prep.prepare(ctx, r, decided)
		if err != nil {
			return cut(prep, facts, changes), err
		}
		if recorded {
			facts.Recorded = decided.Inventory
		}
		clear(checked)
		if changes, err = a.carryOut(ctx, client, waves, r, &facts, decided.Actions, changes); err != nil {
			return cut(prep, facts, changes), err
		}
	}
}

// newer returns the facts for another plan after a plan without actions. ok is false if they would be the same, so that
// the pass can end. confirmed is set if the plan was made from newer facts already.
func (a *Applier) newer(
	ctx context.Context, client *target.Client, r Request, facts plan.Facts, decided plan.Plan, confirmed bool,
) (newer plan.Facts, ok bool) {
	if latest := Snapshot(client, r.externals(), r.ReadyFunc, facts); !confirmed && isOutdated(facts.Live, latest) {
		// An object changed while the plan was made. Another plan now is sooner, and costs less, than another pass.
		facts.Live = latest
		return facts, true
	}
	facts.Names, ok = a.NameOwners(ctx, client, facts, decided)
	return facts, ok
}

// carryOut carries out actions. It adds their results to the facts, keeps the repairs for later passes, and takes a new
// snapshot of the live objects. It appends the writes to changes. The error says that the pass must end.
func (a *Applier) carryOut(
	ctx context.Context, client *target.Client, waves *telemetry.Waves, r Request, facts *plan.Facts,
	actions []plan.Action, changes []result.Change,
) ([]result.Change, error) {
	for i, result := range a.execute(ctx, client, waves, r, actions) {
		changes = a.learn(client, facts, actions[i], result, changes)
	}
	a.state.keepRepairs(facts.Owner, r.RepairNonce, facts.Repairs)
	if err := r.ended(ctx); err != nil {
		return changes, err
	}
	facts.Live = Snapshot(client, r.externals(), r.ReadyFunc, *facts)
	return changes, nil
}

// learn adds the result of an action to the facts. It returns changes with the write of the action.
func (a *Applier) learn(
	client *target.Client, facts *plan.Facts, action plan.Action, result plan.Result, changes []result.Change,
) []result.Change {
	changes = Fold(facts.Results, action, result, changes)
	if action.Verb.Guards() {
		facts.Guard = facts.Guard.After(action, result, facts.Now)
		a.state.keepGuard(facts.Owner, facts.Guard, client)
	}
	if kept, ok := action.Remembered(result); ok {
		facts.Repairs[action.Key] = kept
	}
	return changes
}

// end completes a pass whose last plan contains no actions. end stops the component's watches that are no longer
// needed, starts watches on the namespaces and objects that the component waits for, and returns the outcome.
func (a *Applier) end(
	client *target.Client, r Request, facts plan.Facts, decided plan.Plan, changes []result.Change, prep preparation,
) outcome.Outcome {
	client.Observer.StopWatchesExcept(facts.Owner, watchedResources(client, r, decided.Inventory))
	a.state.keepRepairs(facts.Owner, r.RepairNonce, decided.Repairs)
	if decided.Applied {
		a.state.keepAccepted(facts.Owner, nil)
	}
	a.state.keepNames(facts.Owner, reviewerOf(client, r), facts.Names.Known, decided.Unnamed(facts))
	awaitNamespaces(client, facts.Owner, decided.Waiting, r.Wake)
	a.keepObserved(client, facts)
	unheard := awaitAbsent(client, facts.Owner, decided.Waiting, facts.Observed, r.Wake)
	awaitOwners(client, a.options.Reconciler, facts, decided)
	o := OutcomeOf(decided, changes)
	o.Exports = requestedExports(r, facts)
	o.Created, o.Unwatched = prep.entries(decided.Inventory), append(unwatched(client, r.Owner), unheard...)
	return o
}

// cut returns the outcome of a pass that ends too early: before a plan without actions. The outcome contains only the
// changes and the creates that the pass has made so far.
func cut(prep preparation, facts plan.Facts, changes []result.Change) outcome.Outcome {
	return outcome.Outcome{Outcome: result.Outcome{Changes: changes}, Created: prep.entries(facts.Inventory)}
}

func (a *Applier) plan(planner func(plan.Facts) plan.Plan, facts plan.Facts) plan.Plan {
	defer a.options.Monitor.Time(metrics.StepPlan)()
	return planner(facts)
}

// execute carries out the actions of a plan. After the request is superseded, no further action begins.
func (a *Applier) execute(
	ctx context.Context, client *target.Client, waves *telemetry.Waves, r Request, actions []plan.Action,
) []plan.Result {
	defer a.options.Monitor.Time(metrics.StepExecute)()
	executor := client.Executor.ForNamespace(client.Home(r.Owner))
	inside, outside := splitExternal(actions)
	if len(outside) == 0 {
		return executor.Run(waves.Enter(ctx, actions), r.Superseded, actions)
	}
	results := make([]plan.Result, len(actions))
	for i, result := range r.externals().Run(ctx, at(actions, outside)) {
		results[outside[i]] = result
	}
	for i, result := range executor.Run(waves.Enter(ctx, actions), r.Superseded, at(actions, inside)) {
		results[inside[i]] = result
	}
	return results
}

// unwatched returns the types of an owner's dependents that cannot be watched.
func unwatched(client *target.Client, owner manifests.Owner) []result.Unwatched {
	var found []result.Unwatched
	for _, u := range client.Observer.Unwatched(owner.ID()) {
		found = append(found, result.Unwatched{Type: u.Type.String(), Message: u.Message})
	}
	return found
}
