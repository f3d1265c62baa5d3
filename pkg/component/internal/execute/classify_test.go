package execute

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestClassify(t *testing.T) {
	configMaps := schema.GroupResource{Resource: "configmaps"}
	status := func(code int32, reason metav1.StatusReason, message string, causes ...metav1.StatusCause) error {
		s := metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}
		if len(causes) > 0 {
			s.Details = &metav1.StatusDetails{Causes: causes}
		}
		return &apierrors.StatusError{ErrStatus: s}
	}
	terminating := apierrors.NewForbidden(configMaps, "a", errors.New("namespace shop is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause, Message: "namespace shop is being terminated"}}
	invalidPath := field.NewPath("spec", "clusterIP")

	for _, c := range []struct {
		name    string
		err     error
		class   plan.FailureClass
		reason  plan.WaitReason
		message string
	}{
		{
			"a webhook that does not serve yet goes away",
			apierrors.NewInternalError(errors.New(`failed calling webhook "v.example.com": connection refused`)),
			plan.Transient, "InternalError", `Internal error occurred: failed calling webhook "v.example.com": connection refused`,
		},
		{
			"a webhook that refuses does not",
			status(403, metav1.StatusReasonForbidden, `admission webhook "v.example.com" denied the request: no`),
			plan.Terminal, "Forbidden", `admission webhook "v.example.com" denied the request: no`,
		},
		{
			"a webhook that refuses without a reason does not, either",
			status(400, "", `admission webhook "v.example.com" denied the request: no`),
			plan.Terminal, "APIError", `admission webhook "v.example.com" denied the request: no`,
		},
		{
			"a webhook that refuses with a reason of its own does not, either",
			status(422, "FieldValueRequired", "no"), plan.Terminal, "FieldValueRequired", "no",
		},
		{
			"a policy that refuses is quoted",
			status(422, metav1.StatusReasonInvalid, "configmaps a is forbidden: policy says no", metav1.StatusCause{Message: "policy says no"}),
			plan.Terminal, "Invalid", "policy says no",
		},
		{
			"an invalid object is named by its fields",
			apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "web", field.ErrorList{
				field.Required(field.NewPath("spec", "ports"), ""), field.Invalid(field.NewPath("spec", "type"), "X", "must be known"),
			}),
			plan.Terminal, "Invalid", `spec.ports: Required value; spec.type: Invalid value: "X": must be known`,
		},
		{
			"a cause is named once",
			apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "web", field.ErrorList{
				field.Required(field.NewPath("spec", "ports"), ""), field.Required(field.NewPath("spec", "ports"), ""),
			}),
			plan.Terminal, "Invalid", `spec.ports: Required value`,
		},
		{
			"a definition that is being deleted goes",
			apierrors.NewForbidden(configMaps, "a", errors.New("create not allowed while custom resource definition is terminating")),
			plan.Transient, "Forbidden", `configmaps "a" is forbidden: create not allowed while custom resource definition is terminating`,
		},
		{
			"an immutable field is named",
			apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "web", field.ErrorList{field.Invalid(invalidPath, "1.2.3.4", "field is immutable")}),
			plan.Terminal, "Invalid",
			`spec.clusterIP: Invalid value: "1.2.3.4": field is immutable`,
		},
		{"an invalid object without fields is quoted", status(422, metav1.StatusReasonInvalid, "it is wrong"), plan.Terminal, "Invalid", "it is wrong"},
		{"a bad request does not go away", apierrors.NewBadRequest("json: cannot"), plan.Terminal, "BadRequest", "json: cannot"},
		{"missing rights do not go away", apierrors.NewForbidden(configMaps, "a", errors.New("no rights")), plan.Terminal, "Forbidden", `configmaps "a" is forbidden: no rights`},
		{"a terminating namespace does", terminating, plan.Transient, "NamespaceTerminating", `namespace shop is being terminated; nothing can be created in it until it is deleted and created again`},
		{"too large an object does not", apierrors.NewRequestEntityTooLargeError("limit is 3145728"), plan.Terminal, "RequestEntityTooLarge", "Request entity too large: limit is 3145728"},
		{
			"too large an object for the store does not", &apierrors.StatusError{ErrStatus: metav1.Status{Code: 500, Message: "etcdserver: request is too large"}},
			plan.Terminal, "RequestEntityTooLarge", "etcdserver: request is too large; split it into several objects, or store the data elsewhere",
		},
		{
			"a missing namespace may come",
			apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "shop"),
			plan.Transient, "NamespaceMissing", "namespace shop does not exist; create it, or add it to the manifests",
		},
		{"a missing object may come", apierrors.NewNotFound(configMaps, "a"), plan.Transient, "NotFound", `configmaps "a" not found`},
		{
			"a path that nobody serves may come",
			apierrors.NewGenericServerResponse(http.StatusNotFound, "get", schema.GroupResource{Resource: "widgets"}, "a", "", 0, true),
			plan.Transient, plan.WaitNotServed, "the API server does not serve its type",
		},
		{"a type that nobody serves may come", &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "Widget"}}, plan.Transient, plan.WaitNotServed, "the API server does not serve its type"},
		{"a conflict goes away", apierrors.NewConflict(configMaps, "a", errors.New("modified")), plan.Transient, "Conflict", `Operation cannot be fulfilled on configmaps "a": modified`},
		{"too many requests go away", apierrors.NewTooManyRequests("later", 1), plan.Transient, "TooManyRequests", "later"},
		{"a time-out goes away", apierrors.NewTimeoutError("slow", 1), plan.Transient, "Timeout", "Timeout: slow"},
		{"an unavailable server comes back", apierrors.NewServiceUnavailable("down"), plan.Transient, "ServiceUnavailable", "down"},
		{"a server error without a reason goes away", status(502, "", "bad gateway"), plan.Transient, "APIError", "bad gateway"},
		{"the network comes back", &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("refused")}, plan.Transient, "Unreachable", "dial tcp: refused"},
		{"the end of a pass is no failure of the object", context.Canceled, plan.Transient, "Unreachable", "context canceled"},
		{"so is a deadline", fmt.Errorf("create: %w", context.DeadlineExceeded), plan.Transient, "Unreachable", "create: context deadline exceeded"},
		{"anything else is tried again", errors.New("odd"), plan.Transient, "Error", "odd"},
		{"what is wrapped is found", fmt.Errorf("apply: %w", apierrors.NewBadRequest("no")), plan.Terminal, "BadRequest", "no"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := &plan.Failure{Class: c.class, Reason: c.reason, Message: c.message}
			if diff := cmp.Diff(want, Classify(c.err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFailuresOfUpdatesAdvise(t *testing.T) {
	invalid := func(message string) error {
		return apierrors.NewInvalid(schema.GroupKind{}, "a", field.ErrorList{field.Invalid(field.NewPath("spec", "x"), "", message)})
	}
	const advice = "keep it"
	for _, c := range []struct {
		name, group, kind string
		verb              plan.Verb
		message           string
		reason            plan.WaitReason
		want              string
	}{
		{"a field that is immutable", "apps", "Deployment", plan.VerbApply, "field is immutable", "Immutable", `spec.x: Invalid value: "": field is immutable (the field cannot change: keep it)`},
		{"one that may not change once set", "", "Service", plan.VerbReplace, "may not change once set", "Immutable", `spec.x: Invalid value: "": may not change once set (the field cannot change: keep it)`},
		{"one whose updates are forbidden", "apps", "StatefulSet", plan.VerbApply, "updates to statefulset spec are forbidden", "Immutable", `spec.x: Invalid value: "": updates to statefulset spec are forbidden (the field cannot change: keep it)`},
		{"a rule of a custom resource may mean that", "example.com", "Widget", plan.VerbApply, "size is fixed", "Invalid", `spec.x: Invalid value: "": size is fixed (if the field cannot change: keep it)`},
		{"a value of Kubernetes' own that is wrong", "", "Service", plan.VerbApply, "must be known", "Invalid", `spec.x: Invalid value: "": must be known`},
		{"no advice where there is nothing yet", "apps", "Deployment", plan.VerbCreate, "field is immutable", "Invalid", `spec.x: Invalid value: "": field is immutable`},
		{"a Secret is not quoted", "", "Secret", plan.VerbApply, "field is immutable", "Immutable", "the API server refused it; its message is withheld, because it may quote the Secret; fields: spec.x (the field cannot change: keep it)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := plan.Action{Verb: c.verb, Key: manifests.Key{Group: c.group, Kind: c.kind}, Advice: advice}
			want := &plan.Failure{Class: plan.Terminal, Reason: c.reason, Message: c.want}
			if diff := cmp.Diff(want, failureOf(invalid(c.message), a, "")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPropagation(t *testing.T) {
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
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestCauses(t *testing.T) {
	answer := func(code int32, reason metav1.StatusReason, message string) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Reason: reason, Message: message}}
	}
	for _, c := range []struct {
		name string
		err  error
		want plan.FailureCause
	}{
		{"a missing right", answer(403, metav1.StatusReasonForbidden, `secrets is forbidden: User "fred" cannot create resource "secrets"`), plan.CauseMissingRight},
		{"a webhook that refuses", answer(403, metav1.StatusReasonForbidden, `admission webhook "v" denied the request: no`), plan.CauseNone},
		{"a webhook without dry runs", answer(400, metav1.StatusReasonBadRequest, `admission webhook "v" does not support dry run`), plan.CauseDryRunUnsupported},
		{"no answer", errors.New("connection refused"), plan.CauseNone},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Classify(c.err).Cause; got != c.want {
				t.Errorf("got %q", got)
			}
			secret := plan.Action{Verb: plan.VerbApply, Key: manifests.Key{Kind: "Secret", Name: "a"}}
			if got := failureOf(c.err, secret, "").Cause; got != c.want {
				t.Errorf("of a Secret: got %q", got)
			}
		})
	}
}
