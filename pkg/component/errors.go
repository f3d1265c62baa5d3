package component

import (
	"time"

	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
)

// RetryAfter marks an error as temporary and sets the delay before the next attempt. Generators, hooks, GetParameters
// and Validate may return it. The component is then Reconciling with reason Retrying. With a delay of zero or less the
// reconciler uses its back-off, which begins with half a second and doubles. An event, such as a change of the spec,
// starts a pass earlier. The rate limit Options.MinInterval still holds.
//
// A package that should not import this one can return any error with a method RetryAfter() time.Duration in its chain.
// For an error that no retry can resolve, use reconcile.TerminalError of controller-runtime.
func RetryAfter(err error, after time.Duration) error {
	if err == nil {
		return nil
	}
	return &condition.Retry{Cause: err, After: after}
}

// RefuseDeletion turns an error of a hook into the reason why the component must not be deleted. The component becomes
// DeletionBlocked with reason DeletionRefused, and none of its dependents is touched. The hook is called again at the
// retry interval and at every event.
func RefuseDeletion(err error) error {
	if err == nil {
		return nil
	}
	return &condition.Refusal{Cause: err}
}
