package passerror_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
)

func TestFromAuthorClassifiesErrors(t *testing.T) {
	secrets := schema.GroupResource{Resource: "secrets"}
	plain := errors.New("no such value")
	for name, test := range map[string]struct {
		err        error
		terminal   bool
		reason     string
		isTerminal bool
		after      time.Duration
		state      metav1alpha1.State
	}{
		"a plain error is retried by default": {err: plain, reason: "Retrying", state: "Progressing"},
		"a plain error is terminal if the caller passes this": {
			err: plain, terminal: true, reason: "Broken",
			isTerminal: true, state: "Stalled",
		},
		"a terminal error stays terminal": {
			err: reconcile.TerminalError(plain), reason: "Broken", isTerminal: true, state: "Stalled",
		},
		"an error with a delay is retried, whatever the caller passes": {
			err: fmt.Errorf("call: %w", &passerror.Retry{Cause: plain, After: time.Second}), terminal: true,
			reason: "Retrying", after: time.Second, state: "Progressing",
		},
		"a negative delay is ignored": {
			err: &passerror.Retry{Cause: plain, After: -1}, reason: "Retrying",
			state: "Progressing",
		},
		"a refusal of the deletion blocks the deletion": {
			err: &passerror.Refusal{Cause: plain}, reason: "DeletionRefused", isTerminal: true, state: "DeletionBlocked",
		},
		"an overloaded API server is retried after its delay": {
			err: apierrors.NewTooManyRequests("busy", 3), terminal: true, reason: "Retrying", after: 3 * time.Second,
			state: "Progressing",
		},
		"a broken connection is retried": {
			err: &url.Error{Op: "Get", Err: plain}, terminal: true, reason: "Retrying", state: "Progressing",
		},
		"a malformed address is not a broken connection": {
			err: &url.Error{Op: "parse", Err: plain}, terminal: true, reason: "Broken", isTerminal: true, state: "Stalled",
		},
		"a NotFound error is terminal if the caller passes this": {
			err: apierrors.NewNotFound(secrets, "db"), terminal: true, reason: "Broken", isTerminal: true, state: "Stalled",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := passerror.FromAuthor(test.err, "Broken", test.terminal)
			if got.Reason != test.reason || got.Terminal != test.isTerminal || got.RetryAfter != test.after {
				t.Errorf("the error has the reason %s, terminal %t, and the delay %s", got.Reason, got.Terminal, got.RetryAfter)
			}
			if got.EffectiveState() != test.state {
				t.Errorf("got state %s, want %s", got.EffectiveState(), test.state)
			}
		})
	}
}

func TestOfKeepsConditionErrorsAndRetriesOthers(t *testing.T) {
	inner := &passerror.Error{Reason: "Fetching", Message: "the source is on its way"}
	if got := passerror.Of(fmt.Errorf("render: %w", inner)); got != inner {
		t.Errorf("Of must return the wrapped condition error, got %v", got)
	}
	if got := passerror.Of(errors.New("reset")); got.Reason != metav1alpha1.ReasonRetrying || got.Terminal {
		t.Errorf("an ordinary error must be retried, got %v", got)
	}
	if got := passerror.Of(nil); got != nil {
		t.Errorf("Of(nil) returned %v, want nil", got)
	}
}

func TestInterruptedErrors(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "components"}, "shop", errors.New("changed"))
	for _, err := range []error{conflict, context.Canceled, fmt.Errorf("pass: %w", passerror.ErrSuperseded)} {
		if !passerror.Interrupted(err) {
			t.Errorf("Interrupted returned false for the error: %v", err)
		}
	}
	if passerror.Interrupted(errors.New("reset")) || passerror.Interrupted(nil) {
		t.Error("Interrupted returned true for an ordinary error, or for nil")
	}
}

func TestForbiddenNamesTheMissingRight(t *testing.T) {
	refused := errors.New(`secrets "db" is forbidden: User "shop" cannot get resource "secrets"`)
	got := passerror.Forbidden("read Secret db", "shop", refused)
	if !got.Terminal || !strings.HasSuffix(got.Message, "; grant it to that user") {
		t.Errorf("got %v", got)
	}
}

func TestMessagesFitIntoConditions(t *testing.T) {
	if got := passerror.Message("one\ntwo"); got != "one; two" {
		t.Errorf("Message returned %q, want one; two", got)
	}
	if got := passerror.Truncate("größer", 8); got != "größer" {
		t.Errorf("Truncate must not change a text that fits, got %q", got)
	}
	if got := passerror.Truncate("äöüäöüäöü", 8); len(got) > 8 || !strings.HasSuffix(got, " …") {
		t.Errorf("Truncate returned %q, want at most 8 bytes with an ellipsis", got)
	}
}
