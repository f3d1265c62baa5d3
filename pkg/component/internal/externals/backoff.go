package externals

import (
	"time"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// failed is a call that failed.
type failed struct {
	failure  plan.Failure
	attempts int
	// until is the time before which the call is not repeated. digest is the manifest of the call.
	until  time.Time
	digest string
}

// fail notes the failure of a call that writes. The call is repeated after a back-off that doubles.
func (it *item) fail(verb plan.Verb, f plan.Failure, after time.Duration, digest string) {
	former := it.failures[verb]
	attempts := 1
	if former != nil && former.digest == digest {
		attempts = former.attempts + 1
	}
	if after <= 0 {
		after = backoff(attempts)
	}
	if it.failures == nil {
		it.failures = map[plan.Verb]*failed{}
	}
	until := it.owner.manager.now().Add(after)
	last := &failed{failure: f, attempts: attempts, until: until, digest: digest}
	it.failures[verb] = last
	it.owner.wakeAt(until, func() bool { return it.failures[verb] == last })
}

// failure returns the failure of a call that is not repeated yet. A failure ends when the manifest changes.
func (it *item) failure() *plan.Failure {
	now := it.owner.manager.now()
	for _, f := range it.failures {
		if now.Before(f.until) && (it.desired == nil || f.digest == "" || f.digest == it.desired.Digest) {
			return &f.failure
		}
	}
	return nil
}

// Back-off of calls that failed.
const (
	minBackoff = 500 * time.Millisecond
	maxBackoff = time.Minute
)

func backoff(attempts int) time.Duration {
	if attempts > 7 {
		return maxBackoff
	}
	return min(maxBackoff, minBackoff<<(attempts-1))
}
