package protect

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Protector looks for objects of others that a deletion would take along.
type Protector struct {
	client *target.Client
	// incidental are the objects that do not hold up the deletion of their namespace.
	incidental []Incidental
}

// New returns a Protector for the cluster of a client.
func New(client *target.Client, incidental []Incidental) *Protector {
	return &Protector{client: client, incidental: incidental}
}

// Types are managed types whose foreign instances concern a pass.
type Types []managedType

// Kinds returns the kinds of the types, each once.
func (t Types) Kinds() []schema.GroupKind { return kindsOf(t) }

// Types returns the managed types that concern a pass: those that its removals define, and the additional ones, which
// only matter to the deletion of a component with dependents.
func (p *Protector) Types(
	ctx context.Context, removals []metav1alpha1.InventoryEntry, additional []manifests.ManagedType,
) Types {
	return append(p.definedBy(ctx, removals), p.additional(ctx, additional)...)
}

// Check lists the contents of the objects that a plan deletes, unless they have been checked already, and enters them
// into the facts. It reports whether there was anything to list. checked holds the keys that were listed since the last
// action.
func (p *Protector) Check(ctx context.Context, f plan.Facts, decided plan.Plan, checked map[manifests.Key]bool) bool {
	fresh := unchecked(decided, checked)
	for _, m := range p.definedBy(ctx, fresh) {
		f.Foreign[m.ManagedType] = p.listForeign(ctx, f, m)
	}
	for _, entry := range fresh {
		if plan.IsNamespace(plan.KeyOf(entry)) {
			f.Contents[entry.Name] = p.contents(ctx, f, entry.Name)
		}
	}
	return len(fresh) > 0
}
