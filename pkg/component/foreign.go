package component

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// maxForeignNames is how many foreign instances are named; the rest is counted.
const maxForeignNames = 10

// definition is a type, and the name of the dependent that defines it.
type definition struct {
	schema.GroupKind
	name string
}

// definitionsAmong returns the types defined by dependents that are to be deleted. An APIService names no kinds: its deletion leaves
// its instances where they are, with the server that it pointed at.
func definitionsAmong(victims []metav1alpha1.InventoryEntry) []definition {
	var found []definition
	for _, e := range victims {
		for _, t := range plan.ManagedTypes([]metav1alpha1.InventoryEntry{e}) {
			if t.Kind != "*" {
				found = append(found, definition{t.GroupKind, e.Name})
			}
		}
	}
	return found
}

// definedBy returns the types that definitions define.
func definedBy(definitions []definition) []schema.GroupKind {
	gks := make([]schema.GroupKind, 0, len(definitions))
	for _, d := range definitions {
		gks = append(gks, d.GroupKind)
	}
	return gks
}

// watchedForeign returns what the watches know of foreign instances of the types that are defined. That a type is not served does not
// say that it has no instances; then the API server is asked.
func (e *Engine) watchedForeign(ctx context.Context, f plan.Facts, defined []definition) map[manifests.ManagedType]plan.ForeignInstances {
	found := map[manifests.ManagedType]plan.ForeignInstances{}
	for _, d := range defined {
		instances, reason, message := e.observer.Instances(d.GroupKind)
		switch reason {
		case "":
			found[manifests.ManagedType{GroupKind: d.GroupKind}] = foreign(f, instances)
		case plan.WaitNotServed:
			found[manifests.ManagedType{GroupKind: d.GroupKind}] = e.listedForeign(ctx, f, d)
		default:
			found[manifests.ManagedType{GroupKind: d.GroupKind}] = plan.ForeignInstances{Error: message}
		}
	}
	return found
}

// listedForeign asks the API server itself.
func (e *Engine) listedForeign(ctx context.Context, f plan.Facts, d definition) plan.ForeignInstances {
	instances, err := e.checking.Instances(ctx, d.GroupKind, d.name)
	if err != nil {
		return plan.ForeignInstances{Error: "its instances cannot be listed: " + err.Error()}
	}
	return foreign(f, instances)
}

// foreign counts the instances that are not dependents of this component: by key and UID, never by label, which copies carry along.
func foreign(f plan.Facts, instances []inspect.Instance) plan.ForeignInstances {
	var names []string
	for _, i := range instances {
		entry, recorded := f.Inventory[i.Key]
		uid := entry.UID
		if recorded && uid == "" {
			// It was created, but a crash kept its UID from being recorded.
			if live := f.Live(i.Key); live.Owner == f.Owner {
				uid = live.UID
			}
		}
		if !recorded || uid != i.UID {
			names = append(names, i.Key.String())
		}
	}
	slices.Sort(names)
	return plan.ForeignInstances{Count: len(names), Names: names[:min(len(names), maxForeignNames)]}
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
