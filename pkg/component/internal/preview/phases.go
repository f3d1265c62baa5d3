package preview

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// atDeletion reads the objects of the deletion phases of a rendering, and returns those that exist now and that the
// deletion of the component would take over, or would have to wait for. A deletion renders nothing, so a person can
// rename an object of a phase only before the component is applied. An object that is also applied before the deletion,
// or that is in the inventory, is left out.
func (s *Simulator) atDeletion(ctx context.Context, client *target.Client) result.AtDeletion {
	owned := map[manifests.Key]bool{}
	for i := range s.facts.Desired {
		owned[s.facts.Desired[i].Key] = true
	}
	for key := range s.facts.Inventory {
		owned[key] = true
	}
	var objects []*manifests.Object
	for i := range s.phases {
		if o := &s.phases[i]; !owned[o.Key] && o.Scope != manifests.ScopeUnknown {
			owned[o.Key] = true
			objects = append(objects, o)
		}
	}
	found := make([]existing, len(objects))
	var reading errgroup.Group
	reading.SetLimit(parallelRequests)
	for i, o := range objects {
		reading.Go(func() error {
			found[i] = lookAt(ctx, client, s.facts, o)
			return nil
		})
	}
	_ = reading.Wait()
	var at result.AtDeletion
	for _, e := range found {
		if e.adoption != nil {
			at.Adoptions = append(at.Adoptions, *e.adoption)
		}
		at.Conflicts, at.Unread = append(at.Conflicts, e.conflict...), append(at.Unread, e.unread...)
	}
	return at
}

// existing is an object of a deletion phase that exists. It is empty if the object does not exist, or belongs to the
// component.
type existing struct {
	adoption         *result.Step
	conflict, unread []result.Waiting
}

// lookAt reads an object of a deletion phase, and makes a dry run of its adoption. facts are those of the apply.
func lookAt(ctx context.Context, client *target.Client, facts plan.Facts, o *manifests.Object) existing {
	f := facts
	f.Results, f.Refused, f.Hold, f.Repairs = map[manifests.Key]plan.Result{}, nil, false, nil
	f.Inventory, f.Phases = plan.Inventory{}, nil
	f.Live = plan.Snapshot{o.Key: {Presence: plan.Unknown, Reason: plan.WaitUnwatched}}
	read, _, _ := plan.Existing(f, o)
	if read == nil || read.Verb != plan.VerbRead {
		return existing{}
	}
	answer := client.Executor.DryRun(ctx, *read)
	if answer.Failure != nil {
		return existing{unread: waitsOf(plan.Waiting{
			Key: o.Key, Wave: o.Settings.Order, Reason: answer.Failure.Reason, Message: answer.Failure.Message,
			Failure: answer.Failure,
		})}
	}
	f.Live[o.Key] = answer.Observed
	action, waiting, deleted := plan.Existing(f, o)
	switch {
	case action != nil && action.Reason.Adopts():
		step := adoptionInPhase(*action, asked{DryRunResult: client.Executor.DryRun(ctx, *action)})
		step.Adopts.Deleted = deleted
		return existing{adoption: &step}
	case waiting != nil && waiting.Reason == plan.WaitOwnershipConflict:
		return existing{conflict: waitsOf(*waiting)}
	}
	return existing{}
}

// adoptionInPhase returns the step of a deletion that adopts an object.
func adoptionInPhase(a plan.Action, answer asked) result.Step {
	if f := answer.Failure; f != nil {
		answer.unchecked = string(f.Reason) + ": " + f.Message
	}
	return result.Step{
		Change: outcome.ChangeOf(a), Effect: result.EffectAdopt, Phase: a.Object.Settings.Phase, Unchecked: answer.unchecked,
		Before: answer.Before, After: answer.After, Adopts: adoptionOf(a, answer), Manifest: a.Object,
	}
}

func waitsOf(w plan.Waiting) []result.Waiting { return applier.Waiting([]plan.Waiting{w}) }
