package passerror

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

func retryAfter(err error, after time.Duration) error { return &Retry{Cause: err, After: after} }

func TestAuthoredErrors(t *testing.T) {
	cause := errors.New("busy")
	for _, c := range []struct {
		name      string
		err       error
		byDefault bool
		terminal  bool
		reason    string
	}{
		{"a plain error is transient if the caller passes that", cause, false, false, metav1alpha1.ReasonRetrying},
		{"a plain error is terminal if the caller passes that", cause, true, true, "Failed"},
		{"an error with a delay is transient", retryAfter(cause, time.Second), true, false, metav1alpha1.ReasonRetrying},
		{"a terminal error is terminal", reconcile.TerminalError(cause), false, true, "Failed"},
		{
			"an error of an overloaded API server is retried", fmt.Errorf("x: %w", apierrors.NewTooManyRequests("busy", 3)),
			true, false, metav1alpha1.ReasonRetrying,
		},
		{
			"an internal error of an API server is retried", fmt.Errorf("x: %w", apierrors.NewInternalError(cause)), true, false,
			metav1alpha1.ReasonRetrying,
		},
		{
			"a timeout of an API server is retried", fmt.Errorf("x: %w", apierrors.NewTimeoutError("slow", 0)), true, false,
			metav1alpha1.ReasonRetrying,
		},
		{
			"an error of an unreachable API server is retried",
			fmt.Errorf("x: %w", &url.Error{Op: "Get", Err: context.DeadlineExceeded}), true, false, metav1alpha1.ReasonRetrying,
		},
		{
			"an error NotFound is terminal", apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "a"), true,
			true, "Failed",
		},
		{
			"an error Forbidden is terminal", apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "a", cause), true,
			true, "Failed",
		},
		{
			"a terminal error with a temporary error of an API server as its cause is terminal",
			reconcile.TerminalError(apierrors.NewInternalError(cause)), true, true, "Failed",
		},
		{"an address that cannot be parsed is terminal", &url.Error{Op: "parse", Err: cause}, true, true, "Failed"},
		{
			"an exceeded deadline is terminal, because a retry would take as long", context.DeadlineExceeded, true,
			true, "Failed",
		},
		{
			"a terminal error with a delay is retried", retryAfter(reconcile.TerminalError(cause), time.Second), true, false,
			metav1alpha1.ReasonRetrying,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if p := FromAuthor(c.err, "Failed", c.byDefault); p.Terminal != c.terminal || p.Reason != c.reason {
				t.Errorf("FromAuthor returned the wrong condition error %+v", p)
			}
		})
	}
	if p := FromAuthor(apierrors.NewTooManyRequests("busy", 3), "Failed", true); p.RetryAfter != 3*time.Second {
		t.Errorf("the delay of the next attempt is %s, want 3 s", p.RetryAfter)
	}
}
