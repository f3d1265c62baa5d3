package applier

import (
	"context"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Externals are the dependents of a component outside Kubernetes: facts about them, and the actions on them.
type Externals interface {
	// Synced reports whether each external has answered once, or has failed to, since the process started.
	Synced() bool
	// Snapshot returns the states of those objects of a plan that are externals.
	Snapshot(f plan.Facts) plan.Snapshot
	// Finished returns the results of the actions that ended since the last pass, and their changes.
	Finished() (map[manifests.Key]plan.Result, []result.Change)
	// Prepare stores the intents of creates, and returns their tokens. It is called before the inventory is written.
	// After an error no action of the plan runs.
	Prepare(ctx context.Context, actions []plan.Action) (tokens map[manifests.Key]string, err error)
	// Run begins actions, and does not wait for their end.
	Run(ctx context.Context, actions []plan.Action) []plan.Result
}

// noExternals are the Externals of a component without any. Its manifests of externals have no handler.
type noExternals struct{}

func (noExternals) Synced() bool { return true }

func (noExternals) Snapshot(f plan.Facts) plan.Snapshot {
	states := plan.Snapshot{}
	for _, key := range f.Keys() {
		if key.IsExternal() {
			states[key] = unhandled(key)
		}
	}
	return states
}

func (noExternals) Finished() (map[manifests.Key]plan.Result, []result.Change) { return nil, nil }

func (noExternals) Prepare(context.Context, []plan.Action) (map[manifests.Key]string, error) {
	return nil, nil
}

func (noExternals) Run(_ context.Context, actions []plan.Action) []plan.Result {
	results := make([]plan.Result, len(actions))
	for i, a := range actions {
		results[i] = plan.Result{Verb: a.Verb, Failure: unhandled(a.Key).Failure}
	}
	return results
}

// unhandled returns the state of an external whose kind no handler is registered for.
func unhandled(key manifests.Key) *plan.Observed {
	message := "no handler is registered for externals of the kind " + key.Kind
	return &plan.Observed{Presence: plan.Unknown, Reason: plan.WaitNoHandler, Message: message, Failure: &plan.Failure{
		Class: plan.Terminal, Reason: plan.WaitNoHandler, Message: message,
	}}
}

// externals returns the externals of a request.
func (r Request) externals() Externals {
	if r.Externals == nil {
		return noExternals{}
	}
	return r.Externals
}

// splitExternal returns the positions of the actions on objects in Kubernetes, and of those on externals.
func splitExternal(actions []plan.Action) (inside, outside []int) {
	for i, a := range actions {
		if a.Key.IsExternal() {
			outside = append(outside, i)
		} else {
			inside = append(inside, i)
		}
	}
	return inside, outside
}

// at returns the actions at the given positions.
func at(actions []plan.Action, positions []int) []plan.Action {
	found := make([]plan.Action, 0, len(positions))
	for _, i := range positions {
		found = append(found, actions[i])
	}
	return found
}
