package component

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/execute"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Engine applies and deletes sets of dependents in one target. It is the Reconciler without a controller: it keeps no state but what
// its watches tell, and which of its repairs did not last; a caller persists the inventory. It is safe for concurrent use, for different owners.
type Engine struct {
	*connection
	// user is the engine's identity, empty where that is the one of the connection; dynamic and executor act as it.
	user     string
	dynamic  dynamic.Interface
	executor *execute.Executor
	// elsewhere says that the components are in another cluster.
	elsewhere bool
	// viewer is who watches, and protecting makes the reads that must see everything: as the viewer, whatever the engine's identity may see.
	viewer     observe.Reader
	protecting *execute.Executor
}

// EngineOptions configure an Engine.
type EngineOptions struct {
	// Policies of dependents that name none, in passes that name none.
	Policies Policies
	// Predecessors are what they are in Options.
	Predecessors []string
	// Incidental are what they are in Options.
	Incidental []Incidental
	// Writers bounds the requests under way, which all owners share fairly; 16 by default.
	Writers int
	// CacheFull are the kinds whose dependents are kept whole in memory; see Options.CacheFull.
	CacheFull []schema.GroupKind
	// Observe and ObserveNamespaces are what they are in Options; of these namespaces a lost inventory is rebuilt.
	Observe           Reach
	ObserveNamespaces []string
	// Elsewhere says that the components of which the passes are live in another cluster than the dependents: what has the name of a component there,
	// or of its namespace, is something else.
	Elsewhere bool
	// TracerProvider is what it is in Options.
	TracerProvider trace.TracerProvider
}

// NewEngine returns an engine whose watches live as long as ctx. The name is the reconciler's: a DNS name that is unique in the cluster.
// config is used without a rate limit on the client's side; the API server has its own.
func NewEngine(ctx context.Context, name string, config *rest.Config, o EngineOptions) (*Engine, error) {
	if err := o.Observe.Check(o.ObserveNamespaces); err != nil {
		return nil, fmt.Errorf("EngineOptions.Observe and ObserveNamespaces: %w", err)
	}
	c, err := connect(ctx, name, config, o)
	if err != nil {
		return nil, err
	}
	e := c.itself()
	e.elsewhere = o.Elsewhere
	return e, nil
}

// Apply brings the dependents closer to the apply set, as far as that goes without waiting.
func (e *Engine) Apply(ctx context.Context, p Pass) (Outcome, error) {
	o, err := e.run(ctx, p, plan.ForApply)
	return publicOutcome(o), err
}

// Delete deletes what is in the inventory, as far as that goes without waiting.
func (e *Engine) Delete(ctx context.Context, p Pass) (Outcome, error) {
	o, err := e.delete(ctx, p)
	return publicOutcome(o), err
}

func (e *Engine) delete(ctx context.Context, p Pass) (outcome.Outcome, error) {
	p.Desired, p.deleting = nil, true
	return e.run(ctx, p, plan.ForDelete)
}

// Plan returns what Apply would begin with, and does nothing: Changes are the writes of the stage that may run now. Record is not called.
// While Observing is set nothing can be said yet.
func (e *Engine) Plan(ctx context.Context, p Pass) (Outcome, error) {
	facts, ok := e.facts(ctx, p)
	if !ok {
		return Outcome{Inventory: p.Inventory, Observing: true}, nil
	}
	decided := plan.ForApply(facts)
	var changes []outcome.Change
	for _, a := range decided.Actions {
		if a.Verb.Writes() {
			changes = append(changes, changeOf(a))
		}
	}
	return publicOutcome(outcomeOf(decided, changes)), nil
}

// Tree reads the dependents of an inventory; see the function Tree.
func (e *Engine) Tree(ctx context.Context, reader TreeReader, inventory []metav1alpha1.InventoryEntry) ([]Node, error) {
	return Tree(ctx, reader, inventory)
}

// unwatched returns the types of an owner's dependents that cannot be watched.
func (e *Engine) unwatched(owner manifests.Owner) []outcome.Unwatched {
	var found []outcome.Unwatched
	for _, u := range e.observer.Unwatched(owner.ID()) {
		found = append(found, outcome.Unwatched{Type: u.Type.String(), Message: u.Message})
	}
	return found
}

// run plans and executes by turns, until a plan has no actions left.
func (e *Engine) run(ctx context.Context, p Pass, planner func(plan.Facts) plan.Plan) (outcome.Outcome, error) {
	facts, ok := e.facts(ctx, p)
	if !ok {
		return outcome.Outcome{Inventory: p.Inventory, Observing: true}, nil
	}
	var changes []outcome.Change
	checked, fenced, wave := map[manifests.Key]bool{}, fence{}, traced{tracer: e.monitor.tracer}
	defer wave.end()
	for {
		decided := e.plan(planner, facts)
		facts.Inventory, facts.Repairs, fenced.record = decided.Inventory, decided.Repairs, fenced.record || decided.Record
		if len(decided.Actions) == 0 {
			e.observer.StopWatchesExcept(facts.Owner, e.places(p, decided.Inventory))
			e.repairs.keep(facts.Owner, p.Insist, decided.Repairs)
			e.awaitNamespaces(facts.Owner, decided.Waiting, p.Wake)
			e.awaitOwners(facts, decided)
			o := outcomeOf(decided, changes)
			o.Created, o.Unwatched = fenced.entries(decided.Inventory), e.unwatched(p.Owner)
			return o, nil
		}
		if e.check(ctx, facts, decided, checked) {
			facts.Live = e.snapshot(facts)
			continue
		}
		if err := fenced.pass(ctx, p, decided); err != nil {
			return e.cut(fenced, facts, changes), err
		}
		clear(checked)
		for i, result := range e.execute(ctx, &wave, p, decided.Actions) {
			changes = fold(facts.Results, decided.Actions[i], result, changes)
			facts.Guard = e.guards.learn(facts, decided.Actions[i], result)
			remember(facts.Repairs, decided.Actions[i], result)
		}
		e.repairs.keep(facts.Owner, p.Insist, facts.Repairs)
		if err := p.over(ctx); err != nil {
			return e.cut(fenced, facts, changes), err
		}
		facts.Live = e.snapshot(facts)
	}
}

// cut is the outcome of a pass that ends in the middle: only what it did is known.
func (e *Engine) cut(f fence, facts plan.Facts, changes []outcome.Change) outcome.Outcome {
	return outcome.Outcome{Changes: changes, Created: f.entries(facts.Inventory)}
}
