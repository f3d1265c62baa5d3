package protect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/execute"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// maxForeignNames is the maximum number of foreign instances that a result names. The count includes all foreign
// instances.
const maxForeignNames = 10

// WatchedForeign returns the foreign instances of managed types, as the watches show them.
func (p *Protector) WatchedForeign(
	ctx context.Context,
	f plan.Facts,
	types Types,
) map[manifests.ManagedType]plan.ForeignInstances {
	found := map[manifests.ManagedType]plan.ForeignInstances{}
	for _, m := range types {
		found[m.ManagedType] = p.foreignOf(f, m, func(gk schema.GroupKind) ([]inspect.Instance, error) {
			return p.watchedInstances(ctx, m, gk)
		})
	}
	return found
}

// watchedInstances returns the instances in the watch on a type. watchedInstances sends a list request instead in two
// cases without a usable watch: if the type is not served, because there may still be stored instances, and if the
// group is accepted, because instances that can be listed are protected.
func (p *Protector) watchedInstances(
	ctx context.Context,
	m managedType,
	gk schema.GroupKind,
) ([]inspect.Instance, error) {
	instances, reason, message := p.client.Observer.Instances(p.client.Reader, gk)
	if reason == plan.WaitNone {
		return instances, nil
	}
	if reason == plan.WaitNotServed || p.accepts(gk.Group) {
		return p.listInstances(ctx, m, gk)
	}
	return nil, errors.New(message)
}

// listForeign returns the foreign instances of a managed type. listForeign sends list requests to the API server, and
// does not use the watches.
func (p *Protector) listForeign(ctx context.Context, f plan.Facts, m managedType) plan.ForeignInstances {
	return p.foreignOf(
		f,
		m,
		func(gk schema.GroupKind) ([]inspect.Instance, error) { return p.listInstances(ctx, m, gk) },
	)
}

func (p *Protector) listInstances(ctx context.Context, m managedType, gk schema.GroupKind) ([]inspect.Instance, error) {
	instances, err := p.client.Protecting.Instances(ctx, gk, m.definition)
	if err != nil {
		return nil, fmt.Errorf("its instances cannot be listed: %w", err)
	}
	return instances, nil
}

// foreignOf returns the foreign instances of all kinds of a managed type. If a kind cannot be listed, the result is
// an error.
func (p *Protector) foreignOf(
	f plan.Facts, m managedType, ask func(schema.GroupKind) ([]inspect.Instance, error),
) plan.ForeignInstances {
	if m.definition.Name != "" {
		// Kubernetes deletes all instances together with their definition. So an instance that is a dependent, but is
		// not to be deleted, would be lost. Such an instance is treated as foreign: only the dependents to be deleted
		// stay in the inventory here.
		f.Inventory = going(f)
	}
	var all []inspect.Instance
	var failures []string
	acceptable := m.failure != ""
	if acceptable {
		failures = append(failures, m.failure)
	}
	for _, gk := range m.kinds {
		instances, err := ask(gk)
		_, unserved := errors.AsType[*execute.UnservedError](err)
		acceptable = acceptable || unserved
		switch {
		case err != nil && gk != m.GroupKind:
			failures = append(failures, gk.String()+": "+err.Error())
		case err != nil:
			failures = append(failures, err.Error())
		}
		all = append(all, instances...)
	}
	if len(failures) > 0 && !p.accepts(m.Group) {
		if acceptable && f.Reason == plan.ReasonDeleted {
			failures = append(failures, plan.AcceptUnknown(m.Group, f.Component))
		}
		return plan.ForeignInstances{Err: errors.New(strings.Join(failures, "; "))}
	}
	return foreign(f, all)
}

// foreign counts the instances that are neither dependents of the component nor the component itself. A dependent has a
// recorded key, and the recorded UID or the label and annotation of its owner. The label and the annotation alone are
// no proof, because a copy of a dependent also has them.
func foreign(f plan.Facts, instances []inspect.Instance) plan.ForeignInstances {
	var keys []manifests.Key
	for _, i := range instances {
		entry, recorded := f.Inventory[i.Key]
		itself := !f.RemoteTarget && i.Key == f.Component
		if !itself && (!recorded || entry.UID != i.UID && !isOurs(f.LiveOf(i.Key), f.Owner, i.UID)) {
			keys = append(keys, i.Key)
		}
	}
	slices.SortFunc(keys, func(a, b manifests.Key) int { return strings.Compare(a.String(), b.String()) })
	return plan.ForeignInstances{Count: len(keys), Keys: keys[:min(len(keys), maxForeignNames)]}
}

// isOurs reports whether the live object of a recorded key has the given UID and owner. This reconciler created the
// object, but could not write the UID because of a crash, or because the deletion of the component began.
func isOurs(live plan.Observed, owner string, uid types.UID) bool {
	return live.Presence == plan.Present && live.Owner == owner && live.UID == uid
}

// unchecked returns the entries of the definitions and namespaces that a plan deletes, and that are not in checked yet.
// unchecked adds their keys to checked.
func unchecked(p plan.Plan, checked map[manifests.Key]bool) []metav1alpha1.InventoryEntry {
	var fresh []metav1alpha1.InventoryEntry
	for _, a := range p.Actions {
		e := p.Inventory[a.Key]
		holds := len(e.Types) > 0 || plan.IsNamespace(a.Key)
		if a.Verb == plan.VerbDelete && holds && !checked[a.Key] {
			checked[a.Key] = true
			fresh = append(fresh, e)
		}
	}
	return fresh
}

// going returns the entries of the dependents that are to be deleted: the dependents that are neither desired nor
// orphaned by their policy.
func going(f plan.Facts) plan.Inventory {
	removals := plan.Removals(f.Inventory, f.Desired)
	return plan.NewInventory(slices.DeleteFunc(removals, func(e metav1alpha1.InventoryEntry) bool {
		return plan.Orphans(e, f.Reason)
	}))
}
