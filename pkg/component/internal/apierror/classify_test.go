package apierror

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

func TestErrorsAreClassified(t *testing.T) {
	configMaps := schema.GroupResource{Resource: "configmaps"}
	status := func(code int32, reason metav1.StatusReason, message string, causes ...metav1.StatusCause) error {
		s := metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}
		if len(causes) > 0 {
			s.Details = &metav1.StatusDetails{Causes: causes}
		}
		return &apierrors.StatusError{ErrStatus: s}
	}
	terminating := apierrors.NewForbidden(configMaps, "a", errors.New("namespace shop is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{
		{Type: corev1.NamespaceTerminatingCause, Message: "namespace shop is being terminated"},
	}
	invalidPath := field.NewPath("spec", "clusterIP")

	for _, c := range []struct {
		name    string
		err     error
		class   plan.FailureClass
		reason  plan.WaitReason
		message string
	}{
		{
			"a webhook that does not serve yet is transient",
			apierrors.NewInternalError(errors.New(`failed calling webhook "v.example.com": connection refused`)),
			plan.Transient, "InternalError",
			`Internal error occurred: failed calling webhook "v.example.com": connection refused`,
		},
		{
			"a refusal by a webhook is terminal",
			status(403, metav1.StatusReasonForbidden, `admission webhook "v.example.com" denied the request: no`),
			plan.Terminal, "Forbidden", `admission webhook "v.example.com" denied the request: no`,
		},
		{
			"a refusal by a webhook without a reason is terminal",
			status(400, "", `admission webhook "v.example.com" denied the request: no`),
			plan.Terminal, "APIError", `admission webhook "v.example.com" denied the request: no`,
		},
		{
			"a refusal by a webhook with its own reason is terminal",
			status(422, "FieldValueRequired", "no"), plan.Terminal, "FieldValueRequired", "no",
		},
		{
			"a refusal by a policy is terminal, with its message",
			status(
				422, metav1.StatusReasonInvalid, "configmaps a is forbidden: policy says no",
				metav1.StatusCause{Message: "policy says no"},
			),
			plan.Terminal, "Invalid", "policy says no",
		},
		{
			"the message for an invalid object names its fields",
			apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "web", field.ErrorList{
				field.Required(field.NewPath("spec", "ports"), ""),
				field.Invalid(field.NewPath("spec", "type"), "X", "must be known"),
			}),
			plan.Terminal, "Invalid", `spec.ports: Required value; spec.type: Invalid value: "X": must be known`,
		},
		{
			"a repeated cause is named once",
			apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "web", field.ErrorList{
				field.Required(field.NewPath("spec", "ports"), ""), field.Required(field.NewPath("spec", "ports"), ""),
			}),
			plan.Terminal, "Invalid", `spec.ports: Required value`,
		},
		{
			"a definition that is being deleted is transient",
			apierrors.NewForbidden(
				configMaps, "a", errors.New("create not allowed while custom resource definition is terminating"),
			),
			plan.Transient, "Forbidden",
			`configmaps "a" is forbidden: create not allowed while custom resource definition is terminating`,
		},
		{
			"the message names an immutable field",
			apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "web", field.ErrorList{
				field.Invalid(invalidPath, "1.2.3.4", "field is immutable"),
			}),
			plan.Terminal, "Invalid",
			`spec.clusterIP: Invalid value: "1.2.3.4": field is immutable`,
		},
		{
			"the message for an invalid object without fields is that of the API server",
			status(422, metav1.StatusReasonInvalid, "it is wrong"), plan.Terminal, "Invalid", "it is wrong",
		},
		{"a bad request is terminal", apierrors.NewBadRequest("json: cannot"), plan.Terminal, "BadRequest", "json: cannot"},
		{
			"a missing right is terminal", apierrors.NewForbidden(configMaps, "a", errors.New("no rights")), plan.Terminal,
			"Forbidden", `configmaps "a" is forbidden: no rights`,
		},
		{
			"a terminating namespace is transient", terminating, plan.Transient, "NamespaceTerminating",
			`namespace shop is being terminated; nothing can be created in it until it is deleted and created again`,
		},
		{
			"a too large object is terminal", apierrors.NewRequestEntityTooLargeError("limit is 3145728"), plan.Terminal,
			"RequestEntityTooLarge", "Request entity too large: limit is 3145728",
		},
		{
			"an object that is too large for etcd is terminal",
			&apierrors.StatusError{ErrStatus: metav1.Status{Code: 500, Message: "etcdserver: request is too large"}},
			plan.Terminal, "RequestEntityTooLarge",
			"etcdserver: request is too large; split it into several objects, or store the data elsewhere",
		},
		{
			"a missing namespace is transient",
			apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "shop"),
			plan.Transient, "NamespaceMissing", "namespace shop does not exist; create it, or add it to the manifests",
		},
		{
			"a missing object is transient", apierrors.NewNotFound(configMaps, "a"), plan.Transient, "NotFound",
			`configmaps "a" not found`,
		},
		{
			"a path that is not served is transient",
			apierrors.NewGenericServerResponse(
				http.StatusNotFound, "get", schema.GroupResource{Resource: "widgets"}, "a", "", 0, true,
			),
			plan.Transient, plan.WaitNotServed, "the API server does not serve its type",
		},
		{
			"a type that is not served is transient", &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "Widget"}},
			plan.Transient, plan.WaitNotServed, "the API server does not serve its type",
		},
		{
			"a conflict is transient", apierrors.NewConflict(configMaps, "a", errors.New("modified")), plan.Transient,
			"Conflict", `Operation cannot be fulfilled on configmaps "a": modified`,
		},
		{
			"too many requests are transient", apierrors.NewTooManyRequests("later", 1), plan.Transient, "TooManyRequests",
			"later",
		},
		{"a time-out is transient", apierrors.NewTimeoutError("slow", 1), plan.Transient, "Timeout", "Timeout: slow"},
		{
			"an unavailable server is transient", apierrors.NewServiceUnavailable("down"), plan.Transient, "ServiceUnavailable",
			"down",
		},
		{
			"a server error without a reason is transient", status(502, "", "bad gateway"), plan.Transient, "APIError",
			"bad gateway",
		},
		{
			"a network failure is transient", &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("refused")}, plan.Transient,
			"Unreachable", "dial tcp: refused",
		},
		{"a cancelled context is transient", context.Canceled, plan.Transient, "Unreachable", "context canceled"},
		{
			"an exceeded deadline is transient", fmt.Errorf("create: %w", context.DeadlineExceeded), plan.Transient,
			"Unreachable", "create: context deadline exceeded",
		},
		{"an unknown error is transient", errors.New("odd"), plan.Transient, "Error", "odd"},
		{
			"a wrapped error is classified by its cause", fmt.Errorf("apply: %w", apierrors.NewBadRequest("no")), plan.Terminal,
			"BadRequest", "no",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := &plan.Failure{Class: c.class, Reason: c.reason, Message: c.message}
			if field, _, named := strings.Cut(c.message, ": "); named && strings.HasPrefix(field, "spec.") {
				want.Field = field
			}
			// The causes have a test of their own.
			if diff := cmp.Diff(want, Classify(c.err), cmpopts.IgnoreFields(plan.Failure{}, "Cause")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCausesOfFailures(t *testing.T) {
	answer := func(code int32, reason metav1.StatusReason, message string) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Reason: reason, Message: message}}
	}
	for _, c := range []struct {
		name string
		err  error
		want plan.FailureCause
	}{
		{
			"a missing right",
			answer(403, metav1.StatusReasonForbidden, `secrets is forbidden: User "fred" cannot create resource "secrets"`),
			plan.CauseMissingRight,
		},
		{
			"a refusal by a webhook", answer(403, metav1.StatusReasonForbidden, `admission webhook "v" denied the request: no`),
			plan.CauseAdmission,
		},
		{
			"a refusal by a policy", answer(422, metav1.StatusReasonInvalid,
				`secrets "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p' denied request: no`),
			plan.CauseAdmission,
		},
		{
			"a node port of another Service", answer(422, metav1.StatusReasonInvalid,
				"spec.ports[0].nodePort: Invalid value: 30001: provided port is already allocated"),
			plan.CauseAllocated,
		},
		{"an invalid object", answer(422, metav1.StatusReasonInvalid, "spec.replicas: must be positive"), plan.CauseNone},
		{
			"a webhook without support for dry runs",
			answer(400, metav1.StatusReasonBadRequest, `admission webhook "v" does not support dry run`),
			plan.CauseDryRunUnsupported,
		},
		{"no answer", errors.New("connection refused"), plan.CauseNone},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Classify(c.err).Cause; got != c.want {
				t.Errorf("the failure has the cause %q", got)
			}
		})
	}
}

func TestInvalidNamesTheFieldsOfAComparison(t *testing.T) {
	const claim = "Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName " +
		"for bound claims\n" +
		"  core.PersistentVolumeClaimSpec{\n  \tAccessModes:      {\"ReadWriteOnce\"},\n- \tStorageClassName: &\"slow\",\n" +
		"+ \tStorageClassName: &\"fast\",\n\u00a0\u00a0\tVolumeMode: &\"Filesystem\",\n-\u00a0\tVolumeName: \"pvc-1\",\n  }\n"
	for _, c := range []struct{ name, message, want string }{
		{
			"of a claim", claim,
			"spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for " +
				"bound claims (changed: storageClassName, volumeName)",
		},
		{"of nothing", "Forbidden: no\nother text", "spec: Forbidden: no\nother text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			causes := []metav1.StatusCause{{Field: "spec", Message: c.message}}
			if got := invalid(metav1.Status{Details: &metav1.StatusDetails{Causes: causes}}); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
