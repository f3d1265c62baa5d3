package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inventory"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// record is the inventory of an owner during a pass.
type record struct {
	inventories records.Inventories
	owner       manifests.Owner
	stored      records.StoredInventory
	// damaged is set until the damaged content of the Secret is replaced.
	damaged bool
	entries []metav1alpha1.InventoryEntry
	state   loading
}

// loading says what is known about an owner whose inventory is loaded.
type loading struct {
	// isNew is set if the owner never had dependents.
	isNew, deleting bool
	// isCurrent returns an error if the object of the owner is outdated. It is nil for an owner without an object.
	isCurrent func(context.Context) error
}

func (l loading) verify(ctx context.Context) error {
	if l.isCurrent == nil {
		return nil
	}
	return l.isCurrent(ctx)
}

// RecoveredError says that the inventory of an owner was lost or damaged, and was rebuilt from live objects with the
// owner label. The pass changed no dependent. The rebuilt inventory is stored, so the caller can make the next pass at
// once. Dependents of types that could not be searched are missing in it; they stay in the cluster, and a set that
// contains them takes them over again.
type RecoveredError struct {
	// Secret is the Secret with the inventory, and Cause says why its content was not used.
	Secret types.NamespacedName
	Cause  string
	// Dependents is the number of dependents in the rebuilt inventory.
	Dependents int
	// Unsearched names the types and namespaces that could not be searched. Copies names the objects that do not count
	// as dependents, because other clients wrote them with the owner label. Both are empty if there are none.
	Unsearched, Copies string
	// Label is the label of all dependents, for a search by hand, as "key=value".
	Label string
}

// Error implements error.
func (e *RecoveredError) Error() string {
	text := fmt.Sprintf("the inventory in Secret %s was lost (%s), and was rebuilt from the owner labels (dependents: %d)",
		e.Secret, e.Cause, e.Dependents)
	if e.Copies != "" {
		text += "; not counted, because other clients wrote them with the owner label: " + e.Copies
	}
	if e.Unsearched != "" {
		text += "; " + e.Unsearched + "; find missing dependents by the label " + e.Label
	}
	return text + "; no dependent was changed, and the next pass continues with the rebuilt inventory"
}

// load returns the inventory of an owner. A lost or damaged inventory is rebuilt and stored, and a RecoveredError is
// returned, unless the owner turns out to have no dependents.
func (s *Standalone) load(ctx context.Context, p Request, l loading) (*record, error) {
	r := &record{inventories: s.inventories, owner: p.Owner, state: l}
	if l.deleting {
		// An outdated object has the name of another one, whose dependents must stay.
		if err := l.verify(ctx); err != nil {
			return nil, err
		}
	}
	var lost, err error
	r.stored, lost = s.inventories.Load(ctx, p.Owner)
	if l.deleting && s.inventories.Store.Unreachable(ctx, p.Owner, lost) {
		lost = nil // The right to read the Secret went before the Secret.
	}
	if lost != nil && !records.IsLost(lost) {
		return nil, lost
	}
	secret := s.inventories.SecretOf(p.Owner)
	r.entries, err = inventory.Parse(r.stored.Lines)
	if _, newer := errors.AsType[*passerror.Error](err); newer {
		return nil, fmt.Errorf("the inventory in Secret %s: %w", secret, err)
	}
	if lost == nil {
		lost = err
	}
	if lost == nil && (r.stored.Exists() || l.isNew) {
		return r, nil
	}
	r.damaged = lost != nil
	found, err := s.rebuild(ctx, p, r.entries, l.deleting)
	if err != nil {
		return nil, fmt.Errorf("the inventory in Secret %s does not exist or is damaged: %w", secret, err)
	}
	return r, s.recovered(ctx, r, found, lost)
}

// recovered stores a rebuilt inventory. It returns nil if the search shows that there is nothing to recover.
func (s *Standalone) recovered(ctx context.Context, r *record, found inventory.Rebuilt, lost error) error {
	r.entries = found.Entries
	if lost == nil && len(found.Entries) == 0 && found.Copies == "" {
		if found.Unsearched != "" {
			log.FromContext(ctx).Info("no dependents were found for an owner without an inventory",
				"owner", r.owner.String(), "unsearched", found.Unsearched, "label", s.labelOf(r.owner))
		}
		return nil
	}
	if err := r.save(ctx, found.Entries); err != nil {
		return err
	}
	if !r.stored.Exists() {
		return nil // The deletion goes on at once, because the next pass could only search again.
	}
	cause := "it did not exist"
	if lost != nil {
		cause = lost.Error()
	}
	return &RecoveredError{
		Secret: s.inventories.SecretOf(r.owner), Cause: cause, Dependents: len(found.Entries),
		Unsearched: found.Unsearched, Copies: found.Copies, Label: s.labelOf(r.owner),
	}
}

// rebuild searches for the dependents of an owner by their labels.
func (s *Standalone) rebuild(
	ctx context.Context, p Request, recorded []metav1alpha1.InventoryEntry, deleting bool,
) (inventory.Rebuilt, error) {
	client := s.engine.client
	policies := p.Policies.Or(metav1alpha1.Policies{Delete: s.engine.applier.DefaultDeletePolicy()})
	recovery := inventory.Recovery{
		Searcher: inventory.LabelSearch{
			Discovery: client.Discovery, Metadata: client.Reader.Metadata, Dynamic: client.Reader.Dynamic,
			Wrote: client.View().Wrote,
		},
		DeletePolicy: plan.DefaultDeletePolicy(policies.Reconcile, policies.Delete),
		Namespace:    p.Owner.Namespace, Namespaces: client.ComponentNamespaces(), AsOperator: client.Reader.Name == "",
		NamespaceGoes: client.Own().Executor.NamespaceGoes,
	}
	return recovery.Rebuild(ctx, p.Owner, recorded, deleting)
}

// labelOf returns the label of the dependents of an owner.
func (s *Standalone) labelOf(owner manifests.Owner) string {
	return s.engine.name + "/" + manifests.LabelOwnerID + "=" + owner.ID()
}

// run makes a pass, and stores the inventory that it results in. The empty inventory at the end of a deletion is not
// stored, because its Secret is deleted.
func (r *record) run(
	ctx context.Context, p Request, l loading, pass func(context.Context, Request) (result.Outcome, error),
) (result.Outcome, error) {
	confirm := p.Confirm
	p.Inventory, p.WriteInventory = r.entries, r.save
	p.Confirm = func(ctx context.Context) error {
		if confirm != nil {
			if err := confirm(ctx); err != nil {
				return err
			}
		}
		if err := l.verify(ctx); err != nil {
			return err
		}
		return r.inventories.Confirm(ctx, r.owner, r.stored)
	}
	outcome, err := pass(ctx, p)
	if err != nil || l.deleting && len(outcome.Inventory) == 0 {
		return outcome, err
	}
	if err := r.save(ctx, outcome.Inventory); err != nil {
		return result.Outcome{Changes: outcome.Changes}, err
	}
	return outcome, nil
}

// save stores an inventory, unless it is stored already. A deletion goes on without it if the namespace of the Secret
// goes and accepts no Secret any more.
func (r *record) save(ctx context.Context, entries []metav1alpha1.InventoryEntry) error {
	lines, growth := inventory.Lines(entries)
	if r.stored.Exists() && slices.Equal(lines, r.stored.Lines) && !r.damaged {
		return nil
	}
	if err := r.state.verify(ctx); err != nil {
		return err
	}
	stored, err := r.inventories.Save(ctx, r.owner, r.stored, lines, growth)
	if r.state.deleting && r.inventories.Store.Unreachable(ctx, r.owner, err) {
		log.FromContext(ctx).Info("the deletion continues without a record of the dependents, because the namespace of the "+
			"Secret is being deleted", "owner", r.owner.String(), "dependents", len(entries), "cause", err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	r.stored, r.damaged = stored, false
	return nil
}

// delete deletes the stored inventory.
func (r *record) delete(ctx context.Context) error {
	return r.inventories.Delete(ctx, r.owner, r.stored)
}
