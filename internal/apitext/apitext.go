package apitext

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MissingRight reports whether a request was refused because the user lacks a right. The reason Forbidden is not
// sufficient, because refusals by webhooks, policies and quotas have the same reason.
func MissingRight(err error) bool {
	if !apierrors.IsForbidden(err) {
		return false
	}
	return NamesMissingRight(messageOf(err))
}

// NamesMissingRight reports whether the message of a refused request says that the user lacks a right.
func NamesMissingRight(message string) bool {
	return strings.Contains(message, `" cannot `) && Admission(message) == ""
}

// UnknownPath reports whether the API server does not serve the path of a request. It returns false if only the object
// is missing.
func UnknownPath(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// QuotaExceeded reports whether a request was refused by a ResourceQuota.
func QuotaExceeded(err error) bool {
	if !apierrors.IsForbidden(err) {
		return false
	}
	message := messageOf(err)
	return strings.Contains(message, " is forbidden: exceeded quota: ") && Admission(message) == ""
}

// quota matches the name of the quota that refused a request.
var quota = regexp.MustCompile(` is forbidden: exceeded quota: ([^,\s]+),`)

// Refuser returns the quota, the admission policy or the admission webhook that refused a request. It returns an empty
// text for other errors, also if a webhook did not answer.
func Refuser(err error) string {
	if !isStatus(err) {
		return ""
	}
	message := messageOf(err)
	if by := Admission(message); by != "" {
		if strings.Contains(message, " denied ") {
			return by
		}
		return ""
	}
	if match := quota.FindStringSubmatch(message); match != nil && QuotaExceeded(err) {
		return "ResourceQuota '" + match[1] + "'"
	}
	return ""
}

// admission matches the text about the admission webhook or policy that refused a request, or did not answer.
var admission = regexp.MustCompile(
	`admission webhook "[^"]*"|failed calling webhook "[^"]*"|(?:Validating|Mutating)AdmissionPolicy '[^']*'`)

// Admission returns the part of a message that names the admission webhook or policy that refused a request, or that
// did not answer. It returns an empty text for other messages. The rest of such a message is written by the author of
// the webhook or policy, and may quote the object.
func Admission(message string) string { return admission.FindString(message) }

// RefusedByAdmission reports whether an admission webhook or policy refused a request, or did not answer.
func RefusedByAdmission(err error) bool { return isStatus(err) && Admission(messageOf(err)) != "" }

// Allocated reports whether a Service was refused because another Service has its node port or its address.
func Allocated(err error) bool {
	return apierrors.IsInvalid(err) && strings.Contains(messageOf(err), " is already allocated")
}

// MissingImpersonation reports whether a message says that a user may not act as another user.
func MissingImpersonation(message string) bool {
	return strings.Contains(message, `" cannot impersonate`)
}

// DryRunUnsupported reports whether a dry run was refused because an admission webhook or an aggregated API server does
// not support dry runs. The request without dry run may succeed.
func DryRunUnsupported(err error) bool {
	return isStatus(err) && strings.Contains(messageOf(err), "does not support dry run")
}

// DefinitionTerminating reports whether no instance can be created because the definition of its type is being deleted.
func DefinitionTerminating(s metav1.Status) bool {
	return s.Reason == metav1.StatusReasonForbidden &&
		strings.Contains(s.Message, "while custom resource definition is terminating")
}

// OtherVersion reports whether a server-side apply was refused because of the API version in the object's managed
// fields: this version lacks a field of the object, or it is no longer defined.
func OtherVersion(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Code != http.StatusInternalServerError || Untyped(status.Status()) {
		return false
	}
	message := status.Status().Message
	return strings.Contains(message, "field not declared in schema") ||
		strings.Contains(message, "to an invalid group/version")
}

// Untyped reports whether a manifest does not match the schema of its type. The API server responds to a server-side
// apply of such a manifest with an internal error without a reason.
func Untyped(s metav1.Status) bool {
	undecoded := strings.HasPrefix(s.Message, "failed to convert new object ") &&
		strings.Contains(s.Message, "unable to convert unstructured object to ")
	return s.Code == http.StatusInternalServerError && s.Reason == metav1.StatusReasonUnknown &&
		(undecoded || strings.HasPrefix(s.Message, "failed to create typed patch object"))
}

// TooLarge reports whether an object was refused because of its size: by etcd, whose limit is 1.5 MiB, or by the
// connection of the API server to etcd. Both are reported as internal errors.
func TooLarge(s metav1.Status) bool {
	return s.Code == http.StatusInternalServerError &&
		(strings.Contains(s.Message, "request is too large") || strings.Contains(s.Message, "message larger than max"))
}

// immutable are the phrases in messages of the API server about fields that cannot change.
var immutable = []string{
	"immutable", "may not change", "may not be changed", "may not be updated", "cannot change", "cannot be changed",
	"cannot be updated", "updates to ",
}

// ImmutableField reports whether an update was refused because it changes an immutable field. It does not recognise the
// messages of validation rules of custom resources, so a field may be immutable even if the result is false.
func ImmutableField(err error) bool {
	if !apierrors.IsInvalid(err) {
		return false
	}
	return saysImmutable(messageOf(err))
}

func saysImmutable(text string) bool {
	return slices.ContainsFunc(immutable, func(phrase string) bool { return strings.Contains(text, phrase) })
}

// OtherCause reports whether a manifest was refused for a cause that is not about an immutable field. A refusal may
// have several causes.
func OtherCause(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool {
		return !saysImmutable(c.Message)
	})
}

// NullFields returns the fields for which an update was refused because their values are null. The API server names
// them in the causes of the error. Names are separated by periods, and the indexes of lists are left out.
func NullFields(err error) []string {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var fields []string
	for _, cause := range status.Status().Details.Causes {
		if strings.HasPrefix(cause.Message, `Invalid value: "null"`) {
			fields = append(fields, listIndex.ReplaceAllString(cause.Field, ""))
		}
	}
	return fields
}

// listIndex matches the index of an item in the path of a field.
var listIndex = regexp.MustCompile(`\[[0-9]+\]`)

// UnknownField reports whether a request with strict field validation was refused because the type lacks the given
// field.
func UnknownField(err error, field string) bool {
	return (apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)) &&
		strings.Contains(messageOf(err), fmt.Sprintf("unknown field %q", field))
}

// RefusedByPolicy reports whether a request was refused by the ValidatingAdmissionPolicy with the given name.
func RefusedByPolicy(err error, name string) bool {
	return apierrors.IsForbidden(err) && strings.Contains(messageOf(err), "'"+name+"'")
}

func isStatus(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status)
}

// messageOf returns the message of the API server that err wraps.
func messageOf(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Message
	}
	return err.Error()
}
