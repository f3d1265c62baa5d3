package component

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// What is refused until somebody else allows it, no watch tells of: a right that is granted, a quota that is raised, a namespace that is emptied.
// That is often done right after it was seen to be missing, and seldom later.

// refusals are since when a component has been refused something, and what it wanted then. Known are the digests of what it was refused since it
// wants that: another refusal shows that something was allowed.
type refusals struct {
	since time.Time
	of    wish
	known []string
}

// maxRefusals bounds how often another refusal begins anew: there are some whose messages are never the same.
const maxRefusals = 8

// by returns the refusals after another one.
func (s refusals) by(digest string, now time.Time) refusals {
	if slices.Contains(s.known, digest) || len(s.known) >= maxRefusals {
		return s
	}
	return refusals{since: now, of: s.of, known: append(slices.Clip(s.known), digest)}
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

// refusedWith returns a digest of why a pass failed for something that only others can change, and that no watch tells of; "" where it did not. A deletion
// has no manifest to be wrong, but for what phases apply, so whatever refuses it can be changed only by others.
func refusedWith(component client.Object, terminal []Waiting, p *condition.Error) string {
	var refused []string
	switch deleting := !component.GetDeletionTimestamp().IsZero(); {
	case p == nil:
		for _, w := range terminal {
			if slices.Contains(allowedElsewhere, w.Reason) || deleting && w.Reason != metav1alpha1.ReasonDependentFailed {
				refused = append(refused, fmt.Sprintf("%q %q %q", w.Dependent, w.Reason, w.Message))
			}
		}
	case p.Reason == metav1alpha1.ReasonForbidden:
		refused = append(refused, p.Message)
	}
	if len(refused) == 0 {
		return ""
	}
	slices.Sort(refused)
	sum := sha256.Sum256([]byte(strings.Join(refused, "\n")))
	return hex.EncodeToString(sum[:8])
}

// afterRefusal says when to try again what was refused: as long again as it has been refused already, up to the retry interval. Events don't make
// that shorter: whatever else happens to a component, it is refused the same. Up to a fifth is taken off at random until then. What was not refused
// before begins anew: who grants one right after another waits for none of them long.
func (r *Reconciler[T]) afterRefusal(component T, digest string) time.Duration {
	now, limit, wanted := r.clock.Now(), r.retryInterval(component), r.wishOf(component)
	since := now
	r.refusals.change(client.ObjectKeyFromObject(component), func(last refusals) (refusals, bool) {
		if last.since.IsZero() || last.of != wanted {
			last = refusals{since: now, of: wanted}
		}
		last = last.by(digest, now)
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
