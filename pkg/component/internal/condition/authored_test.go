package condition

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
		{"what says nothing is what the caller says: transient", cause, false, false, metav1alpha1.ReasonRetrying},
		{"what says nothing is what the caller says: terminal", cause, true, true, "Failed"},
		{"what says when to try again is transient", retryAfter(cause, time.Second), true, false, metav1alpha1.ReasonRetrying},
		{"what says that it is terminal is", reconcile.TerminalError(cause), false, true, "Failed"},
		{"an API server that is overloaded is asked again", fmt.Errorf("x: %w", apierrors.NewTooManyRequests("busy", 3)), true, false, metav1alpha1.ReasonRetrying},
		{"an API server that is in trouble is asked again", fmt.Errorf("x: %w", apierrors.NewInternalError(cause)), true, false, metav1alpha1.ReasonRetrying},
		{"an API server that timed out is asked again", fmt.Errorf("x: %w", apierrors.NewTimeoutError("slow", 0)), true, false, metav1alpha1.ReasonRetrying},
		{
			"an API server that is out of reach is asked again",
			fmt.Errorf("x: %w", &url.Error{Op: "Get", Err: context.DeadlineExceeded}), true, false, metav1alpha1.ReasonRetrying,
		},
		{"what an API server does not have is up to people", apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "a"), true, true, "Failed"},
		{"what an API server refuses is up to people", apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "a", cause), true, true, "Failed"},
		{"what says that it is terminal is, whatever an API server says", reconcile.TerminalError(apierrors.NewInternalError(cause)), true, true, "Failed"},
		{"an address that is none is up to people", &url.Error{Op: "parse", Err: cause}, true, true, "Failed"},
		{"running out of time is up to people: the same would take as long again", context.DeadlineExceeded, true, true, "Failed"},
		{"what says both is tried again", retryAfter(reconcile.TerminalError(cause), time.Second), true, false, metav1alpha1.ReasonRetrying},
	} {
		t.Run(c.name, func(t *testing.T) {
			if p := FromAuthor(c.err, "Failed", c.byDefault); p.Terminal != c.terminal || p.Reason != c.reason {
				t.Errorf("got %+v", p)
			}
		})
	}
	if p := FromAuthor(apierrors.NewTooManyRequests("busy", 3), "Failed", true); p.RetryAfter != 3*time.Second {
		t.Errorf("asked again after %s", p.RetryAfter)
	}
}
