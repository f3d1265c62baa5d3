package apitext

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func answer(code int32, reason metav1.StatusReason, message string) error {
	return fmt.Errorf("apply: %w", &apierrors.StatusError{ErrStatus: metav1.Status{
		Code: code, Reason: reason,
		Message: message,
	}})
}

// causes returns a refusal with causes.
func causes(messages ...string) error {
	var errs field.ErrorList
	for _, m := range messages {
		errs = append(errs, field.Invalid(field.NewPath("spec"), "a", m))
	}
	return apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "a", errs)
}

func statusOf(err error) metav1.Status {
	var status apierrors.APIStatus
	errors.As(err, &status)
	return status.Status()
}

// refused is the error of the API server for a user who lacks a right.
var refused = apierrors.NewForbidden(
	schema.GroupResource{Resource: "configmaps"}, "a",
	fmt.Errorf("%s", `User "fred" cannot create resource "configmaps" in API group "" in the namespace "shop"`),
)

func TestWhoRefusedARequest(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{
			"a quota", answer(403, "Forbidden",
				`secrets "a" is forbidden: exceeded quota: few, requested: count/secrets=1, used: count/secrets=1`),
			"ResourceQuota 'few'",
		},
		{
			"a policy", answer(422, "Invalid",
				`secrets "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no`),
			"ValidatingAdmissionPolicy 'p'",
		},
		{
			"a policy whose message is that of a quota",
			answer(403, "Forbidden",
				`secrets "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: "b" is forbidden: exceeded quota: q, `), "ValidatingAdmissionPolicy 'p'",
		},
		{"a webhook", answer(403, "Forbidden", `admission webhook "v" denied the request: no`), `admission webhook "v"`},
		{"no webhook that did not answer", answer(500, "InternalError", `failed calling webhook "v": timeout`), ""},
		{"nobody if a right is missing", answer(403, "Forbidden",
			`secrets "a" is forbidden: User "fred" cannot patch resource "secrets"`), ""},
		{"nobody without an error", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Refuser(c.err); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestRecognises(t *testing.T) {
	of := func(recognise func(metav1.Status) bool) func(error) bool {
		return func(err error) bool { return recognise(statusOf(err)) }
	}
	for _, c := range []struct {
		name      string
		recognise func(error) bool
		err       error
		want      bool
	}{
		{"a missing right", MissingRight, refused, true},
		{"no error is not a missing right", MissingRight, nil, false},
		{"no error is not an exceeded quota", QuotaExceeded, nil, false},
		{"a missing right, wrapped", MissingRight, fmt.Errorf("list: %w", refused), true},
		{
			"a refusal by a webhook", MissingRight, answer(403, "Forbidden", `admission webhook "v" denied the request: no`),
			false,
		},
		{
			"a refusal by a webhook with the words of a missing right", MissingRight,
			answer(403, "Forbidden", `admission webhook "v" denied the request: the password "a" cannot be used`), false,
		},
		{
			"an exceeded quota", QuotaExceeded,
			answer(403, "Forbidden", `secrets "a" is forbidden: exceeded quota: few, requested: secrets=1`), true,
		},
		{
			"a refusal by a policy is no exceeded quota", QuotaExceeded, answer(403, "Forbidden",
				`secrets "a" is forbidden: ValidatingAdmissionPolicy 'p' denied request: "b" is forbidden: exceeded quota: `),
			false,
		},
		{"a missing right is no exceeded quota", QuotaExceeded, refused, false},
		{"an error without a status is not a missing right", MissingRight, errors.New(`user "fred" cannot create`), false},
		{
			"a webhook without dry runs", DryRunUnsupported,
			answer(400, "BadRequest", `admission webhook "v" does not support dry run`), true,
		},
		{"another bad request", DryRunUnsupported, answer(400, "BadRequest", "no"), false},
		{"an error without a status is not a response", DryRunUnsupported, errors.New("it does not support dry run"), false},
		{
			"a refusal by a webhook", RefusedByAdmission, answer(422, "Invalid", `admission webhook "v" denied the request: no`),
			true,
		},
		{"an invalid object", RefusedByAdmission, answer(422, "Invalid", "spec.replicas: must be positive"), false},
		{"no response", RefusedByAdmission, errors.New(`admission webhook "v" denied the request: no`), false},
		{
			"a node port of another Service", Allocated,
			answer(422, "Invalid", "spec.ports[0].nodePort: Invalid value: 30001: provided port is already allocated"), true,
		},
		{
			"an address of another Service", Allocated, answer(422, "Invalid",
				`spec.clusterIPs: Invalid value: ["10.0.0.5"]: failed to allocate IP 10.0.0.5: provided IP is already allocated`),
			true,
		},
		{
			"a node port outside the range", Allocated,
			answer(422, "Invalid", "spec.ports[0].nodePort: Invalid value: 1: provided port is not in the valid range"), false,
		},
		{
			"a definition that is being deleted", of(DefinitionTerminating),
			answer(403, "Forbidden", "create not allowed while custom resource definition is terminating"), true,
		},
		{"another refusal", of(DefinitionTerminating), refused, false},
		{
			"a field of another version", OtherVersion,
			answer(500, "", "failed to merge: .spec.x: field not declared in schema"), true,
		},
		{
			"a version that no longer exists", OtherVersion, answer(500, "", "failed to convert to an invalid group/version"),
			true,
		},
		{
			"a manifest that does not match its schema is not of another version", OtherVersion,
			answer(500, "", "failed to create typed patch object: .spec.x: field not declared in schema"), false,
		},
		{"a time-out", OtherVersion, answer(504, "Timeout", "field not declared in schema"), false},
		{"no answer", OtherVersion, errors.New("connection refused"), false},
		{"a manifest of another schema", of(Untyped), answer(500, "", "failed to create typed patch object (/a): no"), true},
		{
			"a manifest that cannot be decoded", of(Untyped),
			answer(500, "", "failed to convert new object (a/b; /v1, Kind=Pod) to proper version: "+
				"unable to convert unstructured object to /v1, Kind=Pod: quantities must match"), true,
		},
		{
			"a conversion webhook that fails", of(Untyped),
			answer(500, "",
				"failed to convert new object (a/b; a.b/v1, Kind=A) to proper version: conversion webhook for a.b/v1"),
			false,
		},
		{"an internal error", of(Untyped), answer(500, "InternalError", "failed to create typed patch object"), false},
		{"an object too large for etcd", of(TooLarge), answer(500, "", "etcdserver: request is too large"), true},
		{
			"an object too large for gRPC", of(TooLarge), answer(500, "", "trying to send message larger than max (3 vs. 2)"),
			true,
		},
		{"an object of the right size", of(TooLarge), answer(500, "", "etcdserver: leader changed"), false},
		{
			"a field that cannot change", ImmutableField,
			answer(422, "Invalid", "spec.selector: Invalid value: field is immutable"), true,
		},
		{"a field with a wrong value", ImmutableField, answer(422, "Invalid", "spec.replicas: must be positive"), false},
		{"an immutable field alone", OtherCause, causes("field is immutable"), false},
		{"an immutable field and a fault", OtherCause, causes("field is immutable", "no spaces"), true},
		{"a refusal without causes", OtherCause, answer(422, "Invalid", "no"), false},
		{"a refusal", ImmutableField, answer(403, "Forbidden", "field is immutable"), false},
		{"a policy", func(err error) bool {
			return RefusedByPolicy(err,
				"guard")
		}, answer(403, "Forbidden", "ValidatingAdmissionPolicy 'guard' denied"), true},
		{"another policy", func(err error) bool {
			return RefusedByPolicy(err,
				"guard")
		}, answer(403, "Forbidden", "ValidatingAdmissionPolicy 'other' denied"), false},
		{"an unknown field", func(err error) bool {
			return UnknownField(err,
				"spec.suspend")
		}, answer(400, "BadRequest", `strict decoding error: unknown field "spec.suspend"`), true},
		{"another unknown field", func(err error) bool {
			return UnknownField(err,
				"spec.suspend")
		}, answer(400, "BadRequest", `strict decoding error: unknown field "spec.x"`), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.recognise(c.err); got != c.want {
				t.Errorf("%v: got %t", c.err, got)
			}
		})
	}
}

func TestMissingImpersonation(t *testing.T) {
	for message, want := range map[string]bool{
		`User "operator" cannot impersonate resource "users"`: true,
		"denied: we cannot impersonate this":                  false,
	} {
		if got := MissingImpersonation(message); got != want {
			t.Errorf("%s: got %t", message, got)
		}
	}
}

func TestNullFields(t *testing.T) {
	invalid := func(causes ...metav1.StatusCause) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Code: 422, Reason: metav1.StatusReasonInvalid, Details: &metav1.StatusDetails{Causes: causes},
		}}
	}
	for _, c := range []struct {
		name string
		err  error
		want []string
	}{
		{
			"a null", invalid(
				metav1.StatusCause{
					Field:   "spec.a.b",
					Message: `Invalid value: "null": spec.a.b in body must be of type object: "null"`,
				},
				metav1.StatusCause{Field: "<nil>", Message: "Invalid value: null: some validation rules were not checked"},
			), []string{"spec.a.b"},
		},
		{
			"a null in an item", invalid(metav1.StatusCause{
				Field:   "spec.items[12].b",
				Message: `Invalid value: "null": must be of type array`,
			}),
			[]string{"spec.items.b"},
		},
		{
			"another value", invalid(metav1.StatusCause{Field: "spec.a", Message: `Invalid value: "x": must be of type object`}),
			nil,
		},
		{"another error", answer(500, "", `Invalid value: "null"`), nil},
		{"no error", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := NullFields(c.err); !slices.Equal(got, c.want) {
				t.Errorf("NullFields: got %q, want %q", got, c.want)
			}
		})
	}
}
