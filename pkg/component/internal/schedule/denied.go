package schedule

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// Request identifies what a component asked for when an API request was denied. When one of these fields changes, the
// back-off restarts.
type Request struct {
	UID        types.UID
	Generation int64
	Deleting   bool
	// RequestedAt is the value of the annotation that asks for a pass.
	RequestedAt string
}

// denied is the back-off after API requests that fail until a person or another controller changes something: a missing
// right, an exhausted quota, or a namespace that is not empty. No watch reports that change. Mostly it is made soon
// after the denial, so the first retries come quickly and later ones rarely.
type denied struct {
	since   time.Time
	request Request
	// known are the digests of the denials since the back-off began. A new digest shows that a former denial has been
	// resolved, and another request is denied now.
	known []string
}

// maxDenials is how often a new denial may restart the back-off. Some messages differ each time, and would otherwise
// restart it for ever.
const maxDenials = 8

// after returns the back-off after another denial. A denial that is not known restarts it.
func (d denied) after(digest string, now time.Time) denied {
	if slices.Contains(d.known, digest) || len(d.known) >= maxDenials {
		return d
	}
	return denied{since: now, request: d.request, known: append(slices.Clip(d.known), digest)}
}

// allowedElsewhere are the reasons of failures that can end without a change of the component or its manifests, because
// others can grant the right or delete the objects.
var allowedElsewhere = []plan.WaitReason{plan.WaitForbidden, plan.WaitUnauthorized, plan.WaitNotEmpty}

// denialDigest identifies the denied requests of a pass; it is empty if no request was denied. In a deletion every
// terminal failure counts as a denial, because only a person or another controller can resolve it. The failure of an
// object of a phase does not count, because a watch reports when that object changes.
func denialDigest(deleting bool, terminal []outcome.Waiting, failure *condition.Error) string {
	var denials []string
	switch {
	case failure == nil:
		for _, w := range terminal {
			if slices.Contains(allowedElsewhere, plan.WaitReason(w.Reason)) ||
				deleting && w.Reason != metav1alpha1.ReasonDependentFailed {
				denials = append(denials, fmt.Sprintf("%q %q %q", w.Dependent, w.Reason, w.Message))
			}
		}
	case failure.Reason == metav1alpha1.ReasonForbidden:
		denials = append(denials, failure.Message)
	}
	if len(denials) == 0 {
		return ""
	}
	slices.Sort(denials)
	sum := sha256.Sum256([]byte(strings.Join(denials, "\n")))
	return hex.EncodeToString(sum[:8])
}

// retryDenied returns the delay before a denied request is tried again: as long as it has been denied already, up to
// the retry interval. Events do not shorten it. A new denial restarts the delays, so that a person who grants several
// rights one after the other does not wait long after any of the grants.
func (s *State) retryDenied(request Request, digest string, limit time.Duration, now time.Time) time.Duration {
	if s.denied.since.IsZero() || s.denied.request != request {
		s.denied = denied{since: now, request: request}
	}
	s.denied = s.denied.after(digest, now)
	delay := max(firstRetry, now.Sub(s.denied.since))
	if delay >= limit {
		return limit
	}
	return withJitter(delay)
}
