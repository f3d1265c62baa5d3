package applier

import (
	"context"
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// createGuard protects against a second operator of the same name. After the second operator has deleted an object,
// this operator must not create the object again because of an outdated state. Only a create can restore a deleted
// object, because every other write is bound to the UID. A write outside Kubernetes is bound to nothing, so each of
// them is confirmed; see confirmExternals.
//
// Before the first create of a pass, the component is written (to record the inventory) or read. If the component has
// changed since the pass began, the pass ends without the create. A change between this check and the create is
// detected later: the next write of the status fails, because it is bound to the resource version of the component.
// Created objects are unconfirmed until such a write has succeeded, and the next pass deletes the unconfirmed objects
// that the component does not need. If a deletion of the component begins after the create, the deletion finds the
// created object, because it reads all recorded objects before it drops their entries.
type createGuard struct {
	// record is set if the inventory has to be persisted before the next action.
	record bool
	// confirmed is set after the pass recorded the inventory or confirmed the component.
	confirmed bool
	// begun is set after the first action that may write.
	begun bool
	// created are the keys of all objects for which a create was sent, whether the create succeeded or not.
	created map[manifests.Key]bool
}

// prepare makes the actions of a plan safe. It confirms the component if actions write externals, records the intents of
// externals, enters their tokens into the inventory of the plan, and permits the actions. It reports whether the
// inventory was recorded. After an error the actions must not run.
func (g *createGuard) prepare(ctx context.Context, r Request, decided plan.Plan) (recorded bool, err error) {
	if err := g.confirmExternals(ctx, r, decided.Actions); err != nil {
		return false, err
	}
	tokens, err := r.externals().Prepare(ctx, decided.Actions)
	if err != nil {
		return false, err
	}
	g.record = decided.Inventory.EnterTokens(tokens) || g.record
	return g.permit(ctx, r, decided)
}

// permit records the inventory if that is necessary, and otherwise confirms the component before a create. It reports
// whether the inventory was recorded. The error is the reason why the actions must not run.
func (g *createGuard) permit(ctx context.Context, r Request, decided plan.Plan) (recorded bool, err error) {
	if err := g.before(ctx, r, decided.Actions); err != nil {
		return false, err
	}
	creates := slices.ContainsFunc(decided.Actions, isCreate)
	switch {
	case g.record && r.Record != nil:
		if err := r.Record(ctx, decided.Inventory.Sorted()); err != nil {
			return false, fmt.Errorf("record the inventory: %w", err)
		}
		g.record, g.confirmed, recorded = false, true, true
	case creates:
		if err := g.confirm(ctx, r); err != nil {
			return false, err
		}
	}
	// The keys are added last. After an error above no create is sent, so this pass has not created the objects.
	g.add(decided.Actions)
	return recorded, nil
}

// confirmExternals confirms the component before each round of actions outside Kubernetes, because the process may have
// been paused since the last one. It is called before the intents of the actions are recorded: each process that reads
// the intent of a deletion continues the deletion.
func (g *createGuard) confirmExternals(ctx context.Context, r Request, actions []plan.Action) error {
	acts := slices.ContainsFunc(actions, func(a plan.Action) bool { return a.Key.IsExternal() && a.Verb.Writes() })
	if acts {
		g.confirmed = false
		return g.confirm(ctx, r)
	}
	return nil
}

// confirm confirms the component, unless the pass has recorded or confirmed it already.
func (g *createGuard) confirm(ctx context.Context, r Request) error {
	if g.confirmed || r.Confirm == nil {
		return nil
	}
	if err := r.Confirm(ctx); err != nil {
		return fmt.Errorf("confirm the component: %w", err)
	}
	g.confirmed = true
	return nil
}

// before calls Request.Before ahead of the first action that may write.
func (g *createGuard) before(ctx context.Context, r Request, actions []plan.Action) error {
	writes := slices.ContainsFunc(actions, func(a plan.Action) bool { return a.Verb.Writes() || a.Verb.Guards() })
	if g.begun || !writes || r.Before == nil {
		return nil
	}
	g.begun = true
	return r.Before(ctx)
}

func isCreate(a plan.Action) bool { return a.Verb == plan.VerbCreate }

func (g *createGuard) add(actions []plan.Action) {
	for _, a := range actions {
		if !isCreate(a) {
			continue
		}
		if g.created == nil {
			g.created = map[manifests.Key]bool{}
		}
		g.created[a.Key] = true
	}
}

// entries returns the entries of the created objects.
func (g *createGuard) entries(inventory plan.Inventory) plan.Inventory {
	created := plan.Inventory{}
	for key := range g.created {
		if entry, ok := inventory[key]; ok {
			created[key] = entry
		}
	}
	return created
}
