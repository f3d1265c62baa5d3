package component

import (
	"math/rand/v2"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// What is refused until somebody else allows it, no watch tells of: a right that is granted, a quota that is raised, a namespace that is emptied.
// That is often done right after it was seen to be missing, and seldom later.

// refusals are since when a component has been refused something, and what it wanted then.
type refusals struct {
	since time.Time
	of    wish
}

// wish is what a component wants. Another one begins anew.
type wish struct {
	uid        types.UID
	generation int64
	deleting   bool
	request    string
}

// allowedElsewhere are the reasons of failures that end without a change of the component or its manifests.
var allowedElsewhere = []string{string(metav1.StatusReasonForbidden), plan.WaitUnauthorized, plan.WaitNotEmpty}

// isRefused says that a pass failed for something that only others can change, and that no watch tells of. A deletion has no manifest to be wrong,
// but for what phases apply, so whatever refuses it can be changed only by others.
func isRefused(component client.Object, terminal []Waiting, p *problem) bool {
	if p != nil {
		return p.reason == metav1alpha1.ReasonForbidden
	}
	deleting := !component.GetDeletionTimestamp().IsZero()
	return slices.ContainsFunc(terminal, func(w Waiting) bool {
		return slices.Contains(allowedElsewhere, w.Reason) || deleting && w.Reason != metav1alpha1.ReasonDependentFailed
	})
}

// afterRefusal says when to try again what was refused: as long again as it has been refused already, up to the retry interval. Events don't make
// that shorter: whatever else happens to a component, it is refused the same. Up to a fifth is taken off at random until then.
func (r *Reconciler[T]) afterRefusal(component T) time.Duration {
	now, limit, wanted := r.clock.Now(), r.retryInterval(component), r.wishOf(component)
	since := now
	r.refusals.change(client.ObjectKeyFromObject(component), func(last refusals) (refusals, bool) {
		if last.since.IsZero() || last.of != wanted {
			last = refusals{now, wanted}
		}
		since = last.since
		return last, true
	})
	delay := max(firstRetry, now.Sub(since))
	if delay >= limit {
		return limit
	}
	return delay - rand.N(delay/5)
}

func (r *Reconciler[T]) wishOf(component T) wish {
	return wish{
		uid: component.GetUID(), generation: component.GetGeneration(), deleting: !component.GetDeletionTimestamp().IsZero(),
		request: component.GetAnnotations()[r.name+"/"+AnnotationReconcileRequested],
	}
}
