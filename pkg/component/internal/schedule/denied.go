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

// Request identifies the request that was denied. When it changes, the back-off restarts.
type Request struct {
	UID        types.UID
	Generation int64
	Deleting   bool
	// RequestedAt is the value of the annotation that asks for a pass.
	RequestedAt string
}

// denied is the back-off after requests that others have to allow first: a missing right, an exhausted quota, a
// namespace that is not empty. No watch reports the permission. It is often given right after the denial, and rarely
// later.
type denied struct {
	since   time.Time
	request Request
	// known are the digests of the denials since the request began. A new digest shows that something was allowed.
	known []string
}

// maxDenials bounds how often a new denial restarts the back-off, because some messages differ each time.
const maxDenials = 8

// after returns the denials after another one.
func (d denied) after(digest string, now time.Time) denied {
	if slices.Contains(d.known, digest) || len(d.known) >= maxDenials {
		return d
	}
	return denied{since: now, request: d.request, known: append(slices.Clip(d.known), digest)}
}

// allowedElsewhere are the reasons of failures that can end without a change of the component or its manifests.
var allowedElsewhere = []plan.WaitReason{plan.WaitForbidden, plan.WaitUnauthorized, plan.WaitNotEmpty}

// denialDigest identifies the denied requests of a pass; it is empty without any. In a deletion every terminal
// failure counts, because only others can resolve it; a failed object of a phase does not count, because a watch
// reports its end.
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
// the retry interval. Events do not shorten it. A new denial restarts it, so that a person who grants several rights
// one after the other does not wait long for any of them.
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
