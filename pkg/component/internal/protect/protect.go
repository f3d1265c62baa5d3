package protect

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Protector searches for objects of other owners that would be deleted together with a dependent.
type Protector struct {
	client *target.Client
	// incidental are the objects that do not block the deletion of their namespace.
	incidental []Incidental
	// accepted are the API groups whose instances may be lost if the instances cannot be listed.
	accepted []string
}

// New returns a Protector for the cluster of a client. In the accepted groups only instances that can be listed are
// protected.
func New(client *target.Client, incidental []Incidental, accepted []string) *Protector {
	return &Protector{client: client, incidental: incidental, accepted: accepted}
}

func (p *Protector) accepts(group string) bool { return slices.Contains(p.accepted, group) }

// Types are the managed types whose foreign instances a pass has to check.
type Types []managedType

// Kinds returns the kinds of the types, each once.
func (t Types) Kinds() []schema.GroupKind { return kindsOf(t) }

// Types returns the managed types whose foreign instances a pass has to check: the types that the dependents to be
// removed define, and the additional managed types. The caller passes additional types only for the deletion of a
// component with dependents.
func (p *Protector) Types(
	ctx context.Context, removals []metav1alpha1.InventoryEntry, additional []manifests.ManagedType,
) Types {
	defined := p.definedBy(ctx, removals)
	return append(defined, p.additional(ctx, additional, defined)...)
}

// Check lists the instances of the definitions, and the contents of the namespaces, that a plan deletes, and enters the
// results into the facts. Objects whose keys are in checked are skipped. Check reports whether there was anything to
// list. Check adds the keys to checked; the caller clears checked after each execution of actions.
func (p *Protector) Check(ctx context.Context, f plan.Facts, decided plan.Plan, checked map[manifests.Key]bool) bool {
	fresh := unchecked(decided, checked)
	types := p.definedBy(ctx, fresh)
	// The instances are listed at the same time, because a definition must be deleted soon after its list.
	listed, _ := discovery.ForEach(types, func(m managedType) ([]plan.ForeignInstances, error) {
		return []plan.ForeignInstances{p.listForeign(ctx, f, m)}, nil
	})
	for i, m := range types {
		f.Foreign[m.ManagedType] = listed[i]
	}
	for _, entry := range fresh {
		if plan.IsNamespace(plan.KeyOf(entry)) {
			f.Contents[entry.Name] = p.contents(ctx, f, entry)
		}
	}
	return len(fresh) > 0
}
