package execute

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/apitext"
	"github.com/fairlead-io/fairlead/internal/builtintypes"
	"github.com/fairlead-io/fairlead/pkg/component/internal/apierror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/rights"
)

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

// failureOf returns the failure for the error of an action. The argument user is the impersonated user that sent the
// request, or empty if the operator sent it as itself. If a right is missing, advice on how to grant the right follows
// the message of the API server. A message that may quote a Secret is withheld.
func failureOf(err error, a plan.Action, user string) *plan.Failure {
	f := apierror.Classify(err)
	if _, contradiction := errors.AsType[*ignoredError](err); contradiction {
		f = &plan.Failure{Class: plan.Terminal, Reason: plan.WaitInvalid, Message: err.Error()}
	}
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
	case !builtintypes.IsBuiltIn(a.Key.Group):
		f.Message += " (if the field cannot change: " + a.Advice + ")"
	}
}
