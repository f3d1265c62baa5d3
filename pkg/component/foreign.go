package component

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// maxForeignNames is how many foreign instances are named; the rest is counted.
const maxForeignNames = 10

// watchedForeign returns what the watches know of foreign instances of managed types.
func (e *Engine) watchedForeign(ctx context.Context, f plan.Facts, types []managedType) map[manifests.ManagedType]plan.ForeignInstances {
	found := map[manifests.ManagedType]plan.ForeignInstances{}
	for _, m := range types {
		found[m.ManagedType] = e.foreignOf(f, m, func(gk schema.GroupKind) ([]inspect.Instance, error) {
			return e.watchedInstances(ctx, m, gk)
		})
	}
	return found
}

// watchedInstances asks the watch on a type. That a type is not served does not say that it has no instances; then the API server is asked.
func (e *Engine) watchedInstances(ctx context.Context, m managedType, gk schema.GroupKind) ([]inspect.Instance, error) {
	instances, reason, message := e.observer.Instances(e.viewer, gk)
	switch reason {
	case plan.WaitNone:
		return instances, nil
	case plan.WaitNotServed:
		return e.listedInstances(ctx, m, gk)
	}
	return nil, errors.New(message)
}

// listedForeign asks the API server itself.
func (e *Engine) listedForeign(ctx context.Context, f plan.Facts, m managedType) plan.ForeignInstances {
	return e.foreignOf(f, m, func(gk schema.GroupKind) ([]inspect.Instance, error) { return e.listedInstances(ctx, m, gk) })
}

func (e *Engine) listedInstances(ctx context.Context, m managedType, gk schema.GroupKind) ([]inspect.Instance, error) {
	instances, err := e.protecting.Instances(ctx, gk, m.definition)
	if err != nil {
		return nil, fmt.Errorf("its instances cannot be listed: %w", err)
	}
	return instances, nil
}

// foreignOf collects the foreign instances of all kinds that a managed type stands for. Where one is not known, none is.
func (e *Engine) foreignOf(
	f plan.Facts, m managedType, ask func(schema.GroupKind) ([]inspect.Instance, error),
) plan.ForeignInstances {
	if m.definition != "" {
		// Kubernetes deletes all instances with their definition, so what is ours and is to stay counts, too.
		f.Inventory = going(f)
	}
	var all []inspect.Instance
	var failures []string
	if m.failure != "" {
		failures = append(failures, m.failure)
	}
	for _, gk := range m.kinds {
		instances, err := ask(gk)
		switch {
		case err != nil && gk != m.GroupKind:
			failures = append(failures, gk.String()+": "+err.Error())
		case err != nil:
			failures = append(failures, err.Error())
		}
		all = append(all, instances...)
	}
	if len(failures) > 0 {
		return plan.ForeignInstances{Err: errors.New(strings.Join(failures, "; "))}
	}
	return foreign(f, all)
}

// foreign counts the instances that are neither dependents of this component nor itself: by key, and by UID or by our mark. A mark alone
// proves nothing, for copies carry it along.
func foreign(f plan.Facts, instances []inspect.Instance) plan.ForeignInstances {
	var names []string
	for _, i := range instances {
		entry, recorded := f.Inventory[i.Key]
		itself := !f.Elsewhere && i.Key == f.Component
		if !itself && (!recorded || entry.UID != i.UID && !isOurs(f.Live.Of(i.Key), f.Owner, i.UID)) {
			names = append(names, i.Key.String())
		}
	}
	slices.Sort(names)
	return plan.ForeignInstances{Count: len(names), Names: names[:min(len(names), maxForeignNames)]}
}

// isOurs says of an object with a recorded key that it is the one with a UID, and carries our mark: we created it, or created it anew, and a
// crash or a deletion kept its UID from being recorded.
func isOurs(live plan.Observed, owner string, uid types.UID) bool {
	return live.Presence == plan.Present && live.Owner == owner && live.UID == uid
}

// unchecked returns the records of the definitions and namespaces that a plan deletes and that are not checked yet, and notes them: what
// they hold is listed right before they are deleted.
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
