package component

import (
	"time"

	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
)

// RetryAfter marks an error as temporary and sets the delay before the next attempt. Generators, hooks, GetParameters
// and Validate may return it. The component is then Reconciling with reason Retrying. With a delay of zero or less the
// reconciler uses its back-off, which begins with half a second and doubles. A watch event, such as a change of the
// spec, starts a pass earlier. The rate limit Options.Intervals.Min still applies.
//
// A package that does not import package component can return an error of its own instead: any error in the chain may
// have the method RetryAfter() time.Duration. For an error that no retry can resolve, use reconcile.TerminalError of
// controller-runtime.
func RetryAfter(err error, after time.Duration) error {
	if err == nil {
		return nil
	}
	return &passerror.Retry{Cause: err, After: after}
}

// RefuseDeletion turns an error of a hook into the reason why the component must not be deleted. The component becomes
// DeletionBlocked with reason DeletionRefused, and none of its dependents is changed or deleted. The hook is called
// again after the retry interval and after every watch event.
func RefuseDeletion(err error) error {
	if err == nil {
		return nil
	}
	return &passerror.Refusal{Cause: err}
}

// PassError is the failure of a pass, as the conditions of the component report it.
type PassError struct {
	// Reason and Message are those of the conditions; see the constants Reason of package metav1alpha1.
	Reason, Message string
	// Terminal is set if a retry cannot help until somebody changes something.
	Terminal bool
	// Cause is the error of the author's code, such as the generator or a hook, or of the rendered manifests, that
	// Message quotes. Cause is nil for other errors.
	Cause error
}

// Error implements error.
func (e *PassError) Error() string { return e.Reason + ": " + e.Message }

// Unwrap returns the cause, if there is one.
func (e *PassError) Unwrap() error { return e.Cause }

// publicFailure converts the error of a pass to the public type.
func publicFailure(err error) *PassError {
	failure := passerror.Of(err)
	if failure == nil {
		return nil
	}
	return &PassError{
		Reason: failure.Reason, Message: failure.Message, Terminal: failure.Terminal, Cause: failure.Cause,
	}
}
