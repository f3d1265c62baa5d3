package component

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/reconcile"
)

// Quota is the quota of a namespace; see Options.Limits.Quota.
type Quota struct {
	// Dependents is the maximum number of dependents of all components in the namespace together; zero sets no limit.
	Dependents int
	// SetBy says where the quota is set, and who sets it. Messages begin with it, as in "the annotation
	// example.com/quota of namespace shop, which administrators set, allows 10 dependents".
	SetBy string
}

// QuotaExceeded marks an error of a generator, of a hook or of Options.Limits.Quota: the component exceeds a quota. The
// component becomes Stalled with reason QuotaExceeded, and none of its dependents is changed. The next pass is made
// after the retry interval and after every watch event.
func QuotaExceeded(err error) error {
	if err == nil {
		return nil
	}
	return passerror.QuotaExceeded(err)
}

// newQuotas returns the quotas of the namespaces, or nil if the author sets none.
func (r *Reconciler[T]) newQuotas(store *components.Store) *reconcile.Quotas {
	if r.options.Limits.Quota == nil {
		return nil
	}
	limit := func(ctx context.Context, namespace string) (reconcile.Quota, error) {
		q, err := r.options.Limits.Quota(ctx, namespace)
		return reconcile.Quota(q), err
	}
	return reconcile.NewQuotas(limit, store.CountDependents, func(name types.NamespacedName) { r.triggers.wake(name) })
}
