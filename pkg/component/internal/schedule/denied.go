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
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/result"
)

// Request identifies the state of a component in which an API request was denied. When a field of the Request changes,
// the back-off restarts.
type Request struct {
	UID        types.UID
	Generation int64
	Deleting   bool
	// RequestedAt is the value of the annotation that requests a pass.
	RequestedAt string
}

// denied is the back-off after API requests that fail until a person or another controller changes something: a missing
// right, an exhausted quota, or a namespace that is not empty. No watch reports such a change. The change is usually
// made soon after the denial, so the first retries have short delays, and later retries have long delays.
type denied struct {
	since   time.Time
	request Request
	// known are the digests of the denials since the back-off began. A digest that is not known shows that an earlier
	// denial has been resolved, and that another request is denied now.
	known []string
}

// maxDenials is the maximum number of denials that restart the back-off. Without this limit, a message that is
// different each time would restart the back-off for ever.
const maxDenials = 8

// after returns the back-off after another denial. A denial that is not known restarts the back-off.
func (d denied) after(digest string, now time.Time) denied {
	if slices.Contains(d.known, digest) || len(d.known) >= maxDenials {
		return d
	}
	return denied{since: now, request: d.request, known: append(slices.Clip(d.known), digest)}
}

// allowedElsewhere are the reasons of failures that can end without a change of the component or its manifests, because
// another person can grant the right or delete the objects.
var allowedElsewhere = []plan.WaitReason{plan.WaitForbidden, plan.WaitUnauthorized, plan.WaitNotEmpty}

// denialDigest returns a digest of the denied requests of a pass, or an empty string if no request was denied. In a
// deletion, terminal failures of all reasons are treated as denials, because only a person or another controller can
// resolve them. The exception is the failure of an object of a phase, because a watch reports when that object changes.
func denialDigest(deleting bool, terminal []result.Waiting, failure *passerror.Error) string {
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

// retryDenied returns the delay before the next attempt of a denied request. The delay is equal to the time since the
// first denial, up to limit. Events do not shorten the delay. A new denial restarts the back-off, so that a person who
// grants several rights one after the other never has to wait long.
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
