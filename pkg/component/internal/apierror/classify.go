package apierror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/internal/apitext"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// IsConflict reports whether a request failed because the object is not in the observed state. If a server-side apply
// names another UID than that of the live object, the API server reports the change of an immutable field. IsConflict
// returns true for this error, too.
func IsConflict(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || IsOtherUID(err)
}

// IsOtherUID reports whether a request was refused because the live object has another UID than the request.
func IsOtherUID(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && len(details.Causes) > 0 &&
		!slices.ContainsFunc(details.Causes, func(c metav1.StatusCause) bool { return c.Field != "metadata.uid" })
}

// IsNotFound reports whether an object does not exist. The API server also returns status 404 if it does not serve the
// type. IsNotFound returns false for such an error, because the error does not show whether the object exists.
func IsNotFound(err error) bool {
	return apierrors.IsNotFound(err) && !IsNotServed(err)
}

// IsNotServed reports whether a request failed because the API server does not serve the type or the path.
func IsNotServed(err error) bool {
	return meta.IsNoMatchError(err) || apitext.UnknownPath(err)
}

// Classify converts the error of a request to a failure with a class (whether a retry can help), a reason and a
// message.
func Classify(err error) *plan.Failure {
	var status apierrors.APIStatus
	switch {
	case IsNotServed(err):
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
		return &plan.Failure{Class: plan.Terminal, Reason: reason, Cause: CauseOf(err), Message: text, Field: field}
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
		return &plan.Failure{Class: plan.Terminal, Reason: reason, Cause: CauseOf(err), Message: s.Message}
	}
	return &plan.Failure{Class: plan.Transient, Reason: reason, Cause: CauseOf(err), Message: s.Message}
}

// CauseOf returns what distinguishes the error of a request from others with the same reason.
func CauseOf(err error) plan.FailureCause {
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

// maxChanged is the maximum number of fields that a message names in place of a comparison.
const maxChanged = 5

// changedLine matches a changed line in the comparison of two Go values that the API server adds to some refusals. The
// group is the name of a field.
var changedLine = regexp.MustCompile(`(?m)^[-+][\s\x{00a0}]+(\w+):`)

// withoutComparison replaces the comparison of two Go values in a message of the API server by the names of the fields
// that differ.
func withoutComparison(message string) string {
	text, comparison, found := strings.Cut(message, "\n")
	if !found {
		return message
	}
	var names []string
	for _, match := range changedLine.FindAllStringSubmatch(comparison, -1) {
		if name := strings.ToLower(match[1][:1]) + match[1][1:]; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return message
	}
	return text + " (changed: " + strings.Join(names[:min(len(names), maxChanged)], ", ") + ")"
}
