package component

import (
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/rights"
)

// RetryAfter makes an error one that goes away by itself, and says when to try again. Generators, hooks, GetParameters and Validate may
// return it: the component is Reconciling with reason Retrying. Zero or less leaves the delay to the reconciler, which begins with half a
// second and doubles it. An event, such as a change of the spec, comes first; the rate limit Options.MinInterval wins.
//
// Packages that should not import this one return any error in whose chain there is a method RetryAfter() time.Duration. For the opposite,
// an error that does not go away by itself, there is reconcile.TerminalError of controller-runtime.
func RetryAfter(err error, after time.Duration) error {
	if err == nil {
		return nil
	}
	return &retryError{err, after}
}

type retryError struct {
	cause error
	after time.Duration
}

func (e *retryError) Error() string             { return e.cause.Error() }
func (e *retryError) Unwrap() error             { return e.cause }
func (e *retryError) RetryAfter() time.Duration { return e.after }

// RefuseDeletion makes an error of a hook the reason why a component must not be deleted: it is DeletionBlocked, with reason DeletionRefused,
// and nothing of it is touched. The hook is asked again at the retry interval, and at every event.
func RefuseDeletion(err error) error {
	if err == nil {
		return nil
	}
	return &refusal{err}
}

type refusal struct{ cause error }

func (e *refusal) Error() string { return e.cause.Error() }
func (e *refusal) Unwrap() error { return e.cause }

// problem is why a pass ended early; it becomes the component's conditions.
type problem struct {
	reason, message string
	// terminal says that it does not go away by itself.
	terminal bool
	// after is when to try again, where the error said so.
	after time.Duration
	// state overrides the state that follows from terminal.
	state metav1alpha1.State
	// cause is the error of an author's code, for whoever asks what is at the bottom of it.
	cause error
}

func (p *problem) Error() string { return p.reason + ": " + p.message }

// problemOf returns the problem that an error is, nil for nil. What is not known to be a problem goes away by itself.
func problemOf(err error) *problem {
	var p *problem
	switch {
	case err == nil:
		return nil
	case errors.As(err, &p):
		return p
	}
	return &problem{reason: metav1alpha1.ReasonRetrying, message: err.Error()}
}

// authored returns the problem that an error of an author's code is. The error itself may say whether it goes away, or an API server that is
// at the bottom of it; if neither does, terminal says so. A terminal problem has the given reason.
func authored(err error, reason string, terminal bool) *problem {
	if refused, ok := errors.AsType[*refusal](err); ok {
		return &problem{
			reason: metav1alpha1.ReasonDeletionRefused, message: "deletion is refused: " + refused.Error(), terminal: true, state: metav1alpha1.StateDeletionBlocked,
		}
	}
	var retry interface{ RetryAfter() time.Duration }
	if errors.As(err, &retry) {
		return &problem{reason: metav1alpha1.ReasonRetrying, message: err.Error(), after: max(0, retry.RetryAfter()), cause: err}
	}
	if errors.Is(err, reconcile.TerminalError(nil)) {
		return &problem{reason: reason, message: err.Error(), terminal: true, cause: err}
	}
	if after, ok := goesAway(err); ok {
		return &problem{reason: metav1alpha1.ReasonRetrying, message: err.Error(), after: after, cause: err}
	}
	if terminal {
		return &problem{reason: reason, message: err.Error(), terminal: true, cause: err}
	}
	return &problem{reason: metav1alpha1.ReasonRetrying, message: err.Error(), cause: err}
}

// forbidden is the problem that a request was refused for want of a right, which its error names.
func (e *Engine) forbidden(what string, err error) *problem {
	message := fmt.Sprintf("%s: %v; %s", what, err, rights.Advice(err.Error(), e.user, rights.Grant))
	return &problem{reason: metav1alpha1.ReasonForbidden, terminal: true, message: message}
}

func invalidSpec(err error) error { return authored(err, metav1alpha1.ReasonInvalidSpec, true) }
