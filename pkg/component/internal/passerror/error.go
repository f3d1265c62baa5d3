package passerror

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/apierror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/rights"
)

// ErrSuperseded ends a pass because its component changed after the pass began. It is safe to end the pass at this
// point, because all created objects are already in the inventory, and running requests are completed first.
var ErrSuperseded = errors.New("the component has changed since the pass began")

// ErrObserving ends a step that needs the first list of a watch, the result of a job such as a fetch, or a turn among
// the components with kubeconfigs. The arrival of the list, of the result or of the turn starts the next pass.
var ErrObserving = errors.New("the first list of a watch, the result of a job, or a turn is not available yet")

// Error ends a pass early. Package status converts it to the conditions of the component.
type Error struct {
	// Reason and Message become the reason and the message of the conditions.
	Reason, Message string
	// Terminal is set if a retry cannot succeed until a person or another controller changes something.
	Terminal bool
	// Waits is set if the component waits for a change of another object, which starts the next pass. This is not a
	// failure, and the timeout of the component does not run meanwhile.
	Waits bool
	// RetryAfter is the delay before the next attempt. If RetryAfter is zero, the back-off determines the delay.
	RetryAfter time.Duration
	// State is the state of the component because of the error. If State is empty, the state is Stalled for a terminal
	// error of a component that does not wait, and Progressing otherwise.
	State metav1alpha1.State
	// Cause is the error of an author's code, or of manifests, if there is one.
	Cause error
	// Components are the other components that the component waits for, each with the reason.
	Components []metav1alpha1.DependentReport
}

// Error implements error.
func (e *Error) Error() string { return e.Reason + ": " + e.Message }

// EffectiveState returns the state of the component because of the error.
func (e *Error) EffectiveState() metav1alpha1.State {
	switch {
	case e.State != "":
		return e.State
	case e.Terminal && !e.Waits:
		return metav1alpha1.StateStalled
	}
	return metav1alpha1.StateProgressing
}

// Of returns the Error in the chain of err. If the chain has no Error, Of returns an Error that is retried, with the
// message of err. If err is nil, Of returns nil.
func Of(err error) *Error {
	if err == nil {
		return nil
	}
	if found, ok := errors.AsType[*Error](err); ok {
		return found
	}
	return &Error{Reason: metav1alpha1.ReasonRetrying, Message: err.Error()}
}

// Interrupted reports whether err ends a pass without a report: another client wrote the component, the component
// changed, or the operator is stopping. The next pass starts from the new state.
func Interrupted(err error) bool {
	return apierrors.IsConflict(err) || errors.Is(err, context.Canceled) || errors.Is(err, ErrSuperseded)
}

// InvalidSpec returns the error of a spec that cannot be used. The error is terminal, unless FromAuthor classifies it
// as temporary.
func InvalidSpec(err error) *Error { return FromAuthor(err, metav1alpha1.ReasonInvalidSpec, true) }

// ErrPlacement is in the chain of the error of a component whose target cluster, namespace or name changed while
// dependents exist in the previous target.
var ErrPlacement = errors.New("the target changed while dependents exist")

// placementError contains the message of an error that is an ErrPlacement.
type placementError struct{ message string }

func (e *placementError) Error() string { return e.message }

func (e *placementError) Is(target error) bool { return target == ErrPlacement }

// Placement returns the error of a component whose target changed while dependents exist in the previous target.
func Placement(format string, args ...any) *Error {
	return InvalidSpec(&placementError{message: fmt.Sprintf(format, args...)})
}

// QuotaExceeded returns the error of a component that exceeds a quota of its namespace.
func QuotaExceeded(err error) *Error {
	return &Error{Reason: metav1alpha1.ReasonQuotaExceeded, Message: err.Error(), Terminal: true, Cause: err}
}

// Forbidden returns the error for a request that the API server refused because a right is missing. action describes
// the request, and err is the error of the API server, which names the user and the missing right. user is the
// impersonated user; it is empty without impersonation.
func Forbidden(action, user string, err error) *Error {
	message := fmt.Sprintf("%s: %v; %s", action, err, rights.Advice(err.Error(), user, rights.Grant))
	return &Error{Reason: metav1alpha1.ReasonForbidden, Terminal: true, Message: message}
}

// FromAuthor classifies an error of an author's code. The first rule that matches decides:
//   - an exceeded quota (see QuotaExceeded) is returned unchanged;
//   - a refused deletion (see Refusal) blocks the deletion;
//   - an error with a method RetryAfter() time.Duration is retried after that delay;
//   - a reconcile.TerminalError is terminal, with the given reason;
//   - an error of an overloaded or unreachable API server is retried;
//   - any other error is terminal if the argument terminal is set, and is retried otherwise.
func FromAuthor(err error, reason string, terminal bool) *Error {
	if exceeded, ok := errors.AsType[*Error](err); ok && exceeded.Reason == metav1alpha1.ReasonQuotaExceeded {
		return exceeded
	}
	if refused, ok := errors.AsType[*Refusal](err); ok {
		return &Error{
			Reason: metav1alpha1.ReasonDeletionRefused, Message: "deletion is refused: " + refused.Error(),
			Terminal: true, State: metav1alpha1.StateDeletionBlocked,
		}
	}
	retried := &Error{Reason: metav1alpha1.ReasonRetrying, Message: err.Error(), Cause: err}
	final := &Error{Reason: reason, Message: err.Error(), Terminal: true, Cause: err}
	var retry interface{ RetryAfter() time.Duration }
	if errors.As(err, &retry) {
		retried.RetryAfter = max(0, retry.RetryAfter())
		return retried
	}
	if errors.Is(err, reconcile.TerminalError(nil)) {
		return final
	}
	if after, ok := IsTransient(err); ok {
		retried.RetryAfter = after
		return retried
	}
	if terminal {
		return final
	}
	return retried
}

// IsTransient reports whether an error of an author's code was caused by an API server with a temporary problem:
// overload, an internal error, or a broken connection. after is the delay that the API server requested.
func IsTransient(err error) (after time.Duration, ok bool) {
	var status apierrors.APIStatus
	var request *url.Error
	switch {
	case apierrors.IsNotFound(err):
		return 0, false
	case errors.As(err, &status):
		seconds, _ := apierrors.SuggestsClientDelay(err)
		return time.Duration(seconds) * time.Second, apierror.Classify(err).Class == plan.Transient
	case errors.As(err, &request):
		return 0, request.Op != "parse"
	}
	return 0, false
}

// Retry is an error that is retried after a delay.
type Retry struct {
	Cause error
	After time.Duration
}

// Error implements error.
func (e *Retry) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *Retry) Unwrap() error { return e.Cause }

// RetryAfter returns the delay. If the delay is zero or less, the back-off determines the delay.
func (e *Retry) RetryAfter() time.Duration { return e.After }

// Refusal is the error of a hook that refuses the deletion of its component.
type Refusal struct{ Cause error }

// Error implements error.
func (e *Refusal) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *Refusal) Unwrap() error { return e.Cause }

// Unwatched returns the error for an input object that cannot be watched. The pass must end, because it is not known
// whether the object exists.
func Unwatched(object, cause string, forbidden bool) *Error {
	e := &Error{Reason: metav1alpha1.ReasonRetrying, Message: object + ": " + cause}
	if forbidden {
		e.Reason, e.Terminal = metav1alpha1.ReasonForbidden, true
	}
	return e
}
