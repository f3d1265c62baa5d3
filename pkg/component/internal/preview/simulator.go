package preview

import (
	"context"
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// parallelRequests is the maximum number of concurrent dry runs.
const parallelRequests = 16

// maxFirstLists is the timeout for the first lists of the watches.
const maxFirstLists = time.Minute

// Simulator implements reconcile.Applier. Simulator simulates the writes of a pass, and of all following passes.
type Simulator struct {
	Applier *applier.Applier
	// Wakes receives a value whenever a watch event requires another pass.
	Wakes <-chan struct{}
	// Published are the exports in the status of the component.
	Published map[string]runtime.RawExtension
	// Forecast is the result.
	Forecast result.Forecast
	// LostPhases says why a deletion would apply no objects of deletion phases, although there are some.
	LostPhases string
	// BlockersOnly ends each simulation before its first write. No dry run is sent then.
	BlockersOnly bool
	// RenderOnly ends each simulation before it looks at live objects. The forecast contains only the waits for types that
	// are not served.
	RenderOnly bool

	// phases are the objects of deletion phases of the last rendering.
	phases []manifests.Object
	// facts are those of the first plan.
	facts plan.Facts
}

// Apply implements reconcile.Applier.
func (s *Simulator) Apply(ctx context.Context, client *target.Client, r applier.Request) (outcome.Outcome, error) {
	if s.RenderOnly {
		s.Forecast = result.Forecast{
			Desired: plan.CountObjects(r.Desired), Waiting: applier.Waiting(plan.Undefined(r.Desired, r.Managed)),
		}
		return outcome.Outcome{}, nil
	}
	o, err := s.simulate(ctx, client, r, plan.ForApply)
	if err == nil && o.Asked == nil {
		s.Forecast.AtDeletion = s.atDeletion(ctx, client)
	}
	return o, err
}

// Delete implements reconcile.Applier.
func (s *Simulator) Delete(ctx context.Context, client *target.Client, r applier.Request) (outcome.Outcome, error) {
	return s.simulate(ctx, client, r.ForDelete(), plan.ForDelete)
}

// Count implements reconcile.Applier. A preview counts nothing.
func (s *Simulator) Count(*target.Client, applier.Request) (o outcome.Outcome, known bool) {
	return o, false
}

func (s *Simulator) simulate(
	ctx context.Context, client *target.Client, r applier.Request, planner func(plan.Facts) plan.Plan,
) (outcome.Outcome, error) {
	externals := recordedExternals{values: recordedValues(r, s.Published)}
	r.Externals = externals
	facts, err := s.awaitFacts(ctx, client, r)
	if err != nil {
		return outcome.Outcome{}, err
	}
	s.facts = facts
	simulated := &simulation{
		client:       client,
		protector:    s.Applier.Protector(client, r),
		planner:      planner,
		facts:        facts,
		evaluate:     r.ReadyFunc,
		binder:       s.Applier.Binder(r),
		asked:        s.Applier.Asked(r),
		applier:      s.Applier,
		externals:    externals,
		recorded:     maps.Clone(facts.Inventory),
		written:      map[manifests.Key]bool{},
		away:         map[manifests.Key]bool{},
		namespaces:   map[string]bool{},
		blockersOnly: s.BlockersOnly,
		waited:       map[string]bool{},
		unbound:      map[manifests.Key]bool{},
		leftOut:      map[manifests.Key]bool{},
		unserved:     map[manifests.Key]bool{},
		conditional:  map[manifests.Key]bool{},
		touched:      map[manifests.Key]bool{},
		adopting:     map[manifests.Key]result.Step{},
		checked: func(ctx context.Context, f plan.Facts, writes []plan.Action) (applier.Validation, error) {
			return applier.Validate(ctx, client, f, writes)
		},
	}
	simulated.facts.Validate = len(r.Desired) > 0
	if err := simulated.run(ctx); err != nil {
		return outcome.Outcome{}, err
	}
	if simulated.renewed != nil {
		return outcome.Outcome{
			Outcome: result.Outcome{Inventory: r.Inventory}, Asked: simulated.renewed,
			Recorded: r.Recorded, Unrecorded: r.Unrecorded,
		}, nil
	}
	s.Forecast = simulated.forecast
	s.Forecast.Desired = plan.CountObjects(r.Desired)
	s.Forecast.Ignored, s.Forecast.LeftOut = ignoredFields(r.Desired), simulated.facts.LeftOut
	for _, o := range r.Desired {
		if o.Occurrence == 0 && !simulated.touched[o.Key] {
			s.Forecast.Unchanged++
		}
	}
	return outcome.Outcome{}, nil
}

// awaitFacts waits for the first lists of the watches.
func (s *Simulator) awaitFacts(ctx context.Context, client *target.Client, r applier.Request) (plan.Facts, error) {
	late := time.After(maxFirstLists)
	for {
		if facts, ok := s.Applier.Watch(ctx, client, r); ok {
			return facts, nil
		}
		select {
		case <-s.Wakes:
		case <-ctx.Done():
			return plan.Facts{}, ctx.Err()
		case <-late:
			message := fmt.Sprintf("the API server has not listed the dependents for %s; try again", maxFirstLists)
			return plan.Facts{}, &passerror.Error{Reason: metav1alpha1.ReasonRetrying, Message: message}
		}
	}
}
