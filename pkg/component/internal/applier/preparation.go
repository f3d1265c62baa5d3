package applier

import (
	"context"
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// preparation is what a pass does before it carries out actions: it writes the inventory, and confirms that the
// component has not changed. This protects against a second operator of the same name. After the second operator has
// deleted an object, this operator must not create the object again because of an outdated state. Only a create can
// restore a deleted object, because every other write is bound to the UID. A write outside Kubernetes is bound to
// nothing, so each of them is confirmed; see confirmExternals.
//
// Before the first create of a pass, the component is written (with the inventory) or read. If the component has
// changed since the pass began, the pass ends without the create. A change between this check and the create is
// detected later: the next write of the status fails, because it is bound to the resource version of the component.
// Created objects are unconfirmed until such a write has succeeded, and the next pass deletes the unconfirmed objects
// that the component does not need. If a deletion of the component begins after the create, the deletion finds the
// created object, because it reads all objects of the inventory before it drops their entries.
type preparation struct {
	// unwritten is set if the inventory must be written before the next action.
	unwritten bool
	// confirmed is set after the pass wrote the inventory or confirmed the component.
	confirmed bool
	// begun is set after the first action that may write.
	begun bool
	// created are the keys of all objects for which a create was sent, whether the create succeeded or not.
	created map[manifests.Key]bool
}

// prepare makes the actions of a plan safe. It confirms the component if actions write externals, stores the intents of
// externals, enters their tokens into the inventory of the plan, and permits the actions. It reports whether the
// inventory was written. After an error the actions must not run.
func (p *preparation) prepare(ctx context.Context, r Request, decided plan.Plan) (recorded bool, err error) {
	if err := p.confirmExternals(ctx, r, decided.Actions); err != nil {
		return false, err
	}
	tokens, err := r.externals().Prepare(ctx, decided.Actions)
	if err != nil {
		return false, err
	}
	p.unwritten = decided.Inventory.EnterTokens(tokens) || p.unwritten
	return p.permit(ctx, r, decided)
}

// permit writes the inventory if that is necessary, and otherwise confirms the component before a create. It reports
// whether the inventory was written. The error is the reason why the actions must not run.
func (p *preparation) permit(ctx context.Context, r Request, decided plan.Plan) (recorded bool, err error) {
	if err := p.before(ctx, r, decided.Actions); err != nil {
		return false, err
	}
	creates := slices.ContainsFunc(decided.Actions, isCreate)
	switch {
	case p.unwritten && r.WriteInventory != nil:
		if err := r.WriteInventory(ctx, decided.Inventory.Sorted()); err != nil {
			return false, fmt.Errorf("write the inventory: %w", err)
		}
		p.unwritten, p.confirmed, recorded = false, true, true
	case creates:
		if err := p.confirm(ctx, r); err != nil {
			return false, err
		}
	}
	// The keys are added last. After an error above no create is sent, so this pass has not created the objects.
	p.add(decided.Actions)
	return recorded, nil
}

// confirmExternals confirms the component before each round of actions outside Kubernetes, because the process may have
// been paused since the last one. It is called before the intents of the actions are stored, because each process that
// reads the intent of a deletion continues the deletion.
func (p *preparation) confirmExternals(ctx context.Context, r Request, actions []plan.Action) error {
	acts := slices.ContainsFunc(actions, func(a plan.Action) bool { return a.Key.IsExternal() && a.Verb.Writes() })
	if acts {
		p.confirmed = false
		return p.confirm(ctx, r)
	}
	return nil
}

// confirm confirms the component, unless the pass has written or confirmed it already.
func (p *preparation) confirm(ctx context.Context, r Request) error {
	if p.confirmed || r.Confirm == nil {
		return nil
	}
	if err := r.Confirm(ctx); err != nil {
		return fmt.Errorf("confirm the component: %w", err)
	}
	p.confirmed = true
	return nil
}

// before calls Request.Before ahead of the first action that may write.
func (p *preparation) before(ctx context.Context, r Request, actions []plan.Action) error {
	writes := slices.ContainsFunc(actions, func(a plan.Action) bool { return a.Verb.Writes() || a.Verb.Guards() })
	if p.begun || !writes || r.Before == nil {
		return nil
	}
	p.begun = true
	return r.Before(ctx)
}

func isCreate(a plan.Action) bool { return a.Verb == plan.VerbCreate }

func (p *preparation) add(actions []plan.Action) {
	for _, a := range actions {
		if !isCreate(a) {
			continue
		}
		if p.created == nil {
			p.created = map[manifests.Key]bool{}
		}
		p.created[a.Key] = true
	}
}

// entries returns the entries of the created objects.
func (p *preparation) entries(inventory plan.Inventory) plan.Inventory {
	created := plan.Inventory{}
	for key := range p.created {
		if entry, ok := inventory[key]; ok {
			created[key] = entry
		}
	}
	return created
}
