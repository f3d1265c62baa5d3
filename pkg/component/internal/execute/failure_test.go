package execute

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-io/fairlead/pkg/component/internal/apierror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestAdviceIsAddedToFailedUpdates(t *testing.T) {
	invalid := func(message string) error {
		return apierrors.NewInvalid(
			schema.GroupKind{},
			"a",
			field.ErrorList{field.Invalid(field.NewPath("spec", "x"), "", message)},
		)
	}
	const advice = "keep it"
	for _, c := range []struct {
		name, group, kind string
		verb              plan.Verb
		message           string
		reason            plan.WaitReason
		want              string
	}{
		{
			"for an immutable field", "apps", "Deployment", plan.VerbApply, "field is immutable", "Immutable",
			`spec.x: Invalid value: "": field is immutable (the field cannot change: keep it)`,
		},
		{
			"for a field that may not change once set", "", "Service", plan.VerbReplace, "may not change once set", "Immutable",
			`spec.x: Invalid value: "": may not change once set (the field cannot change: keep it)`,
		},
		{
			"for a field whose updates are forbidden", "apps", "StatefulSet", plan.VerbApply,
			"updates to statefulset spec are forbidden", "Immutable",
			`spec.x: Invalid value: "": updates to statefulset spec are forbidden (the field cannot change: keep it)`,
		},
		{
			"conditionally for a rule of a custom resource", "example.com", "Widget", plan.VerbApply, "size is fixed", "Invalid",
			`spec.x: Invalid value: "": size is fixed (if the field cannot change: keep it)`,
		},
		{
			"not for an invalid value of a built-in type", "", "Service", plan.VerbApply, "must be known", "Invalid",
			`spec.x: Invalid value: "": must be known`,
		},
		{
			"not for a create", "apps", "Deployment", plan.VerbCreate, "field is immutable", "Invalid",
			`spec.x: Invalid value: "": field is immutable`,
		},
		{
			"for a Secret, whose message is withheld", "", "Secret", plan.VerbApply, "field is immutable", "Immutable",
			"the API server refused it; its message is withheld, because it may quote the Secret; " +
				"fields: spec.x (the field cannot change: keep it)",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := plan.Action{Verb: c.verb, Key: manifests.Key{Group: c.group, Kind: c.kind}, Advice: advice}
			want := &plan.Failure{Class: plan.Terminal, Reason: c.reason, Message: c.want, Field: "spec.x"}
			if diff := cmp.Diff(want, failureOf(invalid(c.message), a, "")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPropagationPolicyByType(t *testing.T) {
	for _, c := range []struct {
		gk   schema.GroupKind
		want metav1.DeletionPropagation
	}{
		{schema.GroupKind{Group: "apps", Kind: "Deployment"}, metav1.DeletePropagationForeground},
		{schema.GroupKind{Group: "batch", Kind: "Job"}, metav1.DeletePropagationForeground},
		{schema.GroupKind{Kind: "ReplicationController"}, metav1.DeletePropagationForeground},
		{schema.GroupKind{Kind: "ConfigMap"}, metav1.DeletePropagationBackground},
		{schema.GroupKind{Group: "example.com", Kind: "Deployment"}, metav1.DeletePropagationBackground},
	} {
		t.Run(c.gk.String(), func(t *testing.T) {
			if got := propagation(c.gk); got != c.want {
				t.Errorf("the propagation policy of a delete is %s", got)
			}
		})
	}
}

func TestMessagesThatMayQuoteASecretAreWithheld(t *testing.T) {
	answer := func(code int32, reason metav1.StatusReason, message string) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Reason: reason, Message: message}}
	}
	const (
		webhook = `admission webhook "v" denied the request: the password "hunter2" is too weak`
		policy  = `secrets "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: hunter2`
		failing = `Internal error occurred: failed calling webhook "v": an error on the server ("hunter2")`
		quota   = `secrets "a" is forbidden: exceeded quota: few, requested: secrets=1`
		busy    = `the server is currently unable to handle the request`
	)
	withheld := func(by string) string {
		return "the API server refused it" + by + "; its message is withheld, because it may quote the Secret"
	}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"a refusal by a webhook": {
			answer(403, metav1.StatusReasonForbidden, webhook),
			withheld(` (admission webhook "v")`),
		},
		"another reason": {
			answer(422, metav1.StatusReasonInvalid, webhook),
			withheld(` (admission webhook "v")`),
		},
		"a temporary refusal by a webhook": {
			answer(503, metav1.StatusReasonServiceUnavailable, webhook),
			withheld(` (admission webhook "v")`),
		},
		"a conflict by a webhook": {
			answer(409, metav1.StatusReasonConflict, webhook),
			withheld(` (admission webhook "v")`),
		},
		"a webhook that failed": {
			answer(500, metav1.StatusReasonInternalError, failing),
			withheld(` (failed calling webhook "v")`),
		},
		"a refusal by a policy": {
			answer(403, metav1.StatusReasonForbidden, policy),
			withheld(` (ValidatingAdmissionPolicy 'p')`),
		},
		"an invalid object":        {answer(422, metav1.StatusReasonInvalid, "data: hunter2"), withheld("")},
		"another refusal":          {answer(403, metav1.StatusReasonForbidden, "hunter2"), withheld("")},
		"an exceeded quota":        {answer(403, metav1.StatusReasonForbidden, quota), quota},
		"an overloaded API server": {answer(503, metav1.StatusReasonServiceUnavailable, busy), busy},
		"no answer":                {errors.New("connection refused"), "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			secret := plan.Action{Verb: plan.VerbApply, Key: manifests.Key{Kind: "Secret", Name: "a"}}
			if got, want := failureOf(c.err, secret, "").Cause, apierror.CauseOf(c.err); got != want {
				t.Errorf("the failure of a write of a Secret has the cause %q, want %q as for other types", got, want)
			}
			if got := failureOf(c.err, secret, "").Message; got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			other := plan.Action{Verb: plan.VerbApply, Key: manifests.Key{Kind: "ConfigMap", Name: "a"}}
			if got := failureOf(c.err, other, "").Message; strings.Contains(got, "withheld") {
				t.Errorf("the message about another type is withheld: %s", got)
			}
		})
	}
}
