package execute

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/apitext"
	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/rights"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// isConflict reports whether a request failed because the object is not in the observed state. If a server-side apply
// names another UID than that of the live object, the API server reports the change of an immutable field. isConflict
// returns true for this error, too.
func isConflict(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || isOtherUID(err)
}

func isOtherUID(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && len(details.Causes) > 0 &&
		!slices.ContainsFunc(details.Causes, func(c metav1.StatusCause) bool { return c.Field != "metadata.uid" })
}

// isNotFound reports whether an object does not exist. The API server also returns status 404 if it does not serve the
// type. isNotFound returns false for such an error, because the error does not show whether the object exists.
func isNotFound(err error) bool {
	return apierrors.IsNotFound(err) && !isNotServed(err)
}

func isNotServed(err error) bool {
	return meta.IsNoMatchError(err) || discovery.IsUnknownPath(err)
}

// Classify converts the error of a request to a failure with a class (whether a retry can help), a reason and a
// message.
func Classify(err error) *plan.Failure {
	var status apierrors.APIStatus
	_, contradiction := errors.AsType[*ignoredError](err)
	switch {
	case contradiction:
		return &plan.Failure{Class: plan.Terminal, Reason: plan.WaitInvalid, Message: err.Error()}
	case isNotServed(err):
		const message = "the API server does not serve its type"
		return &plan.Failure{Class: plan.Transient, Reason: plan.WaitNotServed, Message: message}
	case !errors.As(err, &status):
		return unreachable(err)
	}
	s := status.Status()
	reason := cmp.Or(plan.WaitReason(s.Reason), plan.WaitAPIError)
	switch {
	case s.Reason == metav1.StatusReasonNotFound:
		return missing(s)
	case s.Reason == metav1.StatusReasonInvalid:
		text, field := invalid(s), firstField(s)
		return &plan.Failure{Class: plan.Terminal, Reason: reason, Cause: causeOf(err), Message: text, Field: field}
	case apitext.Untyped(s):
		return &plan.Failure{Class: plan.Terminal, Reason: plan.WaitInvalid, Message: s.Message}
	case apitext.TooLarge(s):
		return &plan.Failure{
			Class: plan.Terminal, Reason: plan.WaitTooLarge,
			Message: s.Message + "; split it into several objects, or store the data elsewhere",
		}
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return terminating(s)
	case refused(s) && !apitext.DefinitionTerminating(s):
		return &plan.Failure{Class: plan.Terminal, Reason: reason, Cause: causeOf(err), Message: s.Message}
	}
	return &plan.Failure{Class: plan.Transient, Reason: reason, Cause: causeOf(err), Message: s.Message}
}

func causeOf(err error) plan.FailureCause {
	switch {
	case apitext.MissingRight(err):
		return plan.CauseMissingRight
	case apitext.DryRunUnsupported(err):
		return plan.CauseDryRunUnsupported
	case apitext.RefusedByAdmission(err):
		return plan.CauseAdmission
	case apitext.Allocated(err):
		return plan.CauseAllocated
	}
	return plan.CauseNone
}

// mayQuote reports whether the message of a failed write may quote the object: all refusals, and all that a webhook or
// a policy wrote, unless the message is about a missing right, a quota, or the namespace or type of the object.
func mayQuote(f *plan.Failure, err error) bool {
	var status apierrors.APIStatus
	switch {
	case !errors.As(err, &status), f.Cause == plan.CauseMissingRight, apitext.QuotaExceeded(err):
		return false
	case f.Reason == plan.WaitNotServed, f.Reason == plan.WaitNamespaceMissing, f.Reason == plan.WaitNamespaceTerminating:
		return false
	}
	return f.Class == plan.Terminal || apitext.Admission(status.Status().Message) != ""
}

// redacted replaces the message of a failure, because it may quote a Secret. The new message only names the webhook or
// policy, and the refused fields.
func redacted(f *plan.Failure, err error) *plan.Failure {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return f
	}
	var fields []string
	if details := status.Status().Details; details != nil {
		for _, c := range details.Causes {
			fields = append(fields, c.Field)
		}
	}
	f.Message = "the API server refused it"
	if by := apitext.Admission(status.Status().Message); by != "" {
		f.Message += " (" + by + ")"
	}
	f.Message += "; its message is withheld, because it may quote the Secret"
	if len(fields) > 0 {
		f.Message += "; fields: " + strings.Join(fields, ", ")
	}
	return f
}

// refused reports, by the status code, whether a retry of the same request would also be refused. Conflicts, exceeded
// request rates, time-outs, webhooks that are not serving yet and internal errors are temporary. The reason in the
// status is ignored, because a webhook may return any reason.
func refused(s metav1.Status) bool {
	switch s.Code {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusGone, http.StatusLocked, http.StatusTooEarly,
		http.StatusTooManyRequests:
		return false
	}
	return s.Code >= http.StatusBadRequest && s.Code < http.StatusInternalServerError
}

// invalid returns a message with the fields that the API server refused.
func invalid(s metav1.Status) string {
	if s.Details == nil || len(s.Details.Causes) == 0 {
		return s.Message
	}
	var causes []string
	for _, c := range s.Details.Causes {
		// The message can be very long: the API server quotes a refused pod template completely.
		text := shorten(withoutComparison(c.Message))
		if c.Field != "" {
			text = c.Field + ": " + text
		}
		if !slices.Contains(causes, text) {
			causes = append(causes, text)
		}
	}
	return strings.Join(causes, "; ")
}

// firstField returns the first field that a status names; empty if it names none.
func firstField(s metav1.Status) string {
	if s.Details == nil {
		return ""
	}
	for _, c := range s.Details.Causes {
		if c.Field != "" {
			return c.Field
		}
	}
	return ""
}

// failureOf returns the failure for the error of an action. The argument user is the impersonated user that sent the
// request, or empty if the operator sent it as itself. If a right is missing, advice on how to grant the right follows
// the message of the API server. A message that may quote a Secret is withheld.
func failureOf(err error, a plan.Action, user string) *plan.Failure {
	f := Classify(err)
	if f.Cause == plan.CauseMissingRight {
		f.Message += "; " + rights.Advice(f.Message, user, rights.Grant)
	}
	if isSecret(a) && mayQuote(f, err) {
		f = redacted(f, err)
	}
	addAdvice(f, err, a)
	if excluded, found := errors.AsType[*excludedError](err); found {
		f.Message += "; " + excluded.hint
	}
	return f
}

func isSecret(a plan.Action) bool { return a.Key.GroupKind() == schema.GroupKind{Kind: "Secret"} }

// addAdvice adds advice about immutable fields to the failure of an update. The validation rules of custom resources
// have their own messages, which do not show whether a field is immutable. So the advice for custom resources begins
// with "if".
func addAdvice(f *plan.Failure, err error, a plan.Action) {
	updates := a.Verb == plan.VerbApply || a.Verb == plan.VerbReplace
	if !updates || a.Advice == "" || !apierrors.IsInvalid(err) {
		return
	}
	switch {
	case apitext.ImmutableField(err):
		f.Reason = plan.WaitImmutable
		f.Message += " (the field cannot change: " + a.Advice + ")"
	case !manifests.IsBuiltIn(a.Key.Group):
		f.Message += " (if the field cannot change: " + a.Advice + ")"
	}
}

func shorten(text string) string {
	const head, tail = 160, 80
	if len(text) <= head+tail {
		return text
	}
	return plan.Head(text, head) + " … " + plan.Tail(text, tail)
}

// missing returns the failure for a write that failed with status 404. The status does not mean the written object, but
// another object that the write needs, such as its namespace.
func missing(s metav1.Status) *plan.Failure {
	if s.Details != nil && s.Details.Kind == "namespaces" {
		return &plan.Failure{
			Class: plan.Transient, Reason: plan.WaitNamespaceMissing,
			Message: fmt.Sprintf("namespace %s does not exist; create it, or add it to the manifests", s.Details.Name),
		}
	}
	return &plan.Failure{Class: plan.Transient, Reason: plan.WaitNotFound, Message: s.Message}
}

// terminating returns the failure for a create in a namespace that is being deleted.
func terminating(s metav1.Status) *plan.Failure {
	message := s.Message
	for _, c := range s.Details.Causes {
		if c.Type == corev1.NamespaceTerminatingCause {
			message = c.Message
		}
	}
	return &plan.Failure{
		Class: plan.Transient, Reason: plan.WaitNamespaceTerminating,
		Message: message + "; nothing can be created in it until it is deleted and created again",
	}
}

func unreachable(err error) *plan.Failure {
	var netErr net.Error
	if errors.As(err, &netErr) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &plan.Failure{Class: plan.Transient, Reason: plan.WaitUnreachable, Message: err.Error()}
	}
	return &plan.Failure{Class: plan.Transient, Reason: plan.WaitError, Message: err.Error()}
}
