package reconcile

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/plural"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Quota is the quota of a namespace.
type Quota struct {
	// Dependents is the maximum number of dependents of all components in the namespace together; zero sets no limit.
	Dependents int
	// SetBy says where the quota is set, and who sets it.
	SetBy string
}

// Quotas bounds the number of dependents of the components of a namespace together. A component reserves its dependents
// before they are written, so that two passes at the same time do not exceed the quota. A nil Quotas sets no limits. It
// is safe for concurrent use.
type Quotas struct {
	limit func(ctx context.Context, namespace string) (Quota, error)
	// recorded returns the number of recorded dependents of each component in a namespace, from a cache that may be old.
	recorded func(ctx context.Context, namespace string) (map[string]int, error)
	wake     func(types.NamespacedName)

	mu         sync.Mutex
	namespaces map[string]*ledger
}

// ledger is the state of the components of a namespace. reserved contains the number of dependents that a component may
// have, according to its last pass; the recorded numbers may be older or newer. refused are the components that wait.
type ledger struct {
	reserved map[string]int
	refused  map[string]bool
}

// NewQuotas returns Quotas. The function recorded returns the number of recorded dependents of each component in a
// namespace. The function wake starts a pass over a component that was refused.
func NewQuotas(
	limit func(ctx context.Context, namespace string) (Quota, error),
	recorded func(ctx context.Context, namespace string) (map[string]int, error),
	wake func(types.NamespacedName),
) *Quotas {
	return &Quotas{limit: limit, recorded: recorded, wake: wake, namespaces: map[string]*ledger{}}
}

// Admit reserves the dependents of a component before a pass writes any of them. inventory contains the recorded
// dependents. A component that renders only recorded dependents is always admitted, also above the quota. A component
// that would add dependents is refused if all components would have more desired dependents than the quota allows.
// Dependents that are to be pruned do not count, as long as all dependents together are at most twice the quota:
// otherwise a component could exceed the quota by dependents that cannot be deleted, for example because of finalizers.
func (q *Quotas) Admit(
	ctx context.Context, name types.NamespacedName, desired []manifests.Object, inventory []metav1alpha1.InventoryEntry,
) error {
	if q == nil || name.Namespace == "" {
		return nil
	}
	limit, err := q.limit(ctx, name.Namespace)
	if err != nil {
		return passerror.FromAuthor(err, metav1alpha1.ReasonQuotaExceeded, false)
	}
	rendered, added := plan.CountObjects(desired), countAdded(desired, inventory)
	q.mu.Lock()
	defer q.mu.Unlock()
	known := q.ledgerOf(name.Namespace)
	known.reserved[name.Name] = len(inventory)
	delete(known.refused, name.Name)
	if added == 0 || limit.Dependents <= 0 {
		known.reserved[name.Name] += added
		return nil
	}
	others, err := q.others(ctx, name, known)
	if err != nil {
		return err
	}
	all := len(inventory) + added
	if rendered+others <= limit.Dependents && all+others <= 2*limit.Dependents {
		known.reserved[name.Name] = all
		return nil
	}
	known.refused[name.Name] = true
	message := fmt.Sprintf("%s allows %s of all components in namespace %s; the other components have %d, "+
		"and this component renders %d, of which %d do not exist yet",
		limit.SetBy, plural.Of(limit.Dependents, "dependent"), name.Namespace, others, rendered, added)
	if rendered+others <= limit.Dependents {
		message += fmt.Sprintf("; with %d that are still to be deleted, these are more than twice the quota",
			all-rendered)
	}
	return passerror.QuotaExceeded(errors.New(message + "; nothing is written"))
}

// others returns the number of dependents that the other components of the namespace have or may have. The caller holds
// the lock.
func (q *Quotas) others(ctx context.Context, name types.NamespacedName, known *ledger) (int, error) {
	counts, err := q.recorded(ctx, name.Namespace)
	if err != nil {
		return 0, fmt.Errorf("count the dependents in namespace %s: %w", name.Namespace, err)
	}
	total := 0
	for other, count := range counts {
		if other != name.Name {
			total += max(count, known.reserved[other])
		}
	}
	for other, count := range known.reserved {
		if _, counted := counts[other]; !counted && other != name.Name {
			total += count
		}
	}
	return total, nil
}

// Settle sets the number of dependents of a component after a pass that left nothing to do.
func (q *Quotas) Settle(name types.NamespacedName, dependents int) {
	if q == nil {
		return
	}
	q.mu.Lock()
	known, found := q.namespaces[name.Namespace]
	if !found {
		q.mu.Unlock()
		return
	}
	before := known.reserved[name.Name]
	known.reserved[name.Name] = dependents
	q.mu.Unlock()
	if dependents < before {
		q.Retry(name.Namespace)
	}
}

// Release forgets a component that does not exist any more.
func (q *Quotas) Release(name types.NamespacedName) {
	if q == nil {
		return
	}
	q.mu.Lock()
	if known, found := q.namespaces[name.Namespace]; found {
		delete(known.reserved, name.Name)
		delete(known.refused, name.Name)
	}
	q.mu.Unlock()
	q.Retry(name.Namespace)
}

// Retry starts passes over the refused components of a namespace, because a component of the namespace has fewer
// dependents than before.
func (q *Quotas) Retry(namespace string) {
	if q == nil {
		return
	}
	q.mu.Lock()
	var refused []types.NamespacedName
	if known, found := q.namespaces[namespace]; found {
		for name := range known.refused {
			refused = append(refused, types.NamespacedName{Namespace: namespace, Name: name})
		}
		if len(known.reserved)+len(known.refused) == 0 {
			delete(q.namespaces, namespace)
		}
	}
	q.mu.Unlock()
	for _, name := range refused {
		q.wake(name)
	}
}

// ledgerOf returns the ledger of a namespace. The caller holds the lock.
func (q *Quotas) ledgerOf(namespace string) *ledger {
	known, found := q.namespaces[namespace]
	if !found {
		known = &ledger{reserved: map[string]int{}, refused: map[string]bool{}}
		q.namespaces[namespace] = known
	}
	return known
}

// countAdded returns the number of desired objects that are not in an inventory.
func countAdded(desired []manifests.Object, inventory []metav1alpha1.InventoryEntry) int {
	recorded, added := plan.NewInventory(inventory), 0
	for i := range desired {
		if _, known := recorded[desired[i].Key]; !known && desired[i].Occurrence == 0 {
			added++
		}
	}
	return added
}
