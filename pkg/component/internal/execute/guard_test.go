package execute

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const (
	policyPath  = " /apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/guard"
	bindingPath = " /apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/guard"
)

func guardAction(verb plan.Verb) plan.Action {
	return plan.Action{
		Verb: verb, Owner: "us",
		Key:         manifests.Key{Group: admission, Kind: "ValidatingAdmissionPolicy", Name: "guard"},
		Definitions: []plan.Definition{{Name: "widgets.example.com", UID: "d1"}, {Name: "gears.example.com", UID: "d2"}},
	}
}

func runGuard(t *testing.T, verb plan.Verb, answers ...answer) (plan.Result, *apiServer) {
	t.Helper()
	server := &apiServer{answers: answers}
	e, _ := server.executor(t)
	return e.Run(t.Context(), nil, []plan.Action{guardAction(verb)})[0], server
}

func TestAGuardIsAPolicyWithABinding(t *testing.T) {
	ok := answer{200, map[string]any{"apiVersion": "v1", "kind": "X"}}
	got, server := runGuard(t, plan.VerbGuard, ok, ok)
	if diff := cmp.Diff([]string{"PATCH" + policyPath, "PATCH" + bindingPath}, server.verbs()); diff != "" {
		t.Fatal(diff)
	}
	if got.Failure != nil {
		t.Fatalf("the guard was not set up: %v", got.Failure)
	}
	spec, _ := server.requests[0].body["spec"].(map[string]any)
	constraints, _ := spec["matchConstraints"].(map[string]any)
	probe := probeName(guardAction(plan.VerbProbe))
	want := []any{
		map[string]any{
			"apiGroups": []any{"example.com"}, "apiVersions": []any{"*"}, "operations": []any{"CREATE"},
			"resources": []any{"widgets", "gears"},
		},
		map[string]any{
			"apiGroups": []any{"apiextensions.k8s.io"}, "apiVersions": []any{"*"}, "operations": []any{"CREATE"},
			"resources": []any{"customresourcedefinitions"}, "resourceNames": []any{probe},
		},
	}
	if diff := cmp.Diff(any(want), constraints["resourceRules"]); diff != "" {
		t.Error(diff)
	}
	metadata, _ := server.requests[0].body["metadata"].(map[string]any)
	if owners, _ := metadata["ownerReferences"].([]any); len(owners) != 2 {
		t.Errorf("the guard has the owner references %v, want two", metadata["ownerReferences"])
	}
}

func TestAGuardFailsIfThePolicyIsRefused(t *testing.T) {
	got, server := runGuard(t, plan.VerbGuard, status(403, metav1.StatusReasonForbidden))
	checkResult(t, got, plan.VerbGuard, "", "Forbidden")
	if len(server.requests) != 1 {
		t.Errorf("the executor sent the requests %v, want one", server.verbs())
	}
}

func TestAProbeCreatesADefinitionAsADryRun(t *testing.T) {
	refused := answer{422, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: 422,
		Reason:  metav1.StatusReasonForbidden,
		Message: "ValidatingAdmissionPolicy 'guard' with binding 'guard' denied request: x",
	}}
	for _, c := range []struct {
		name     string
		answer   answer
		presence plan.Presence
		failure  plan.WaitReason
	}{
		{"the guard is absent if the API server accepts the definition", answer{201, map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		}}, plan.Absent, ""},
		{"the guard is present if its policy refuses the definition", refused, plan.Present, ""},
		{"another refusal fails", status(403, metav1.StatusReasonForbidden), "", "Forbidden"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, server := runGuard(t, plan.VerbProbe, c.answer)
			var presence plan.Presence
			var failure plan.WaitReason
			if got.Observed != nil {
				presence = got.Observed.Presence
			}
			if got.Failure != nil {
				failure = got.Failure.Reason
			}
			if presence != c.presence || failure != c.failure {
				t.Errorf("got %q %q", presence, failure)
			}
			if r := server.requests[0]; !strings.HasPrefix(r.verb, "POST ") || r.query != "dryRun=All" {
				t.Errorf("the executor sent %s?%s, want a POST with dryRun=All", r.verb, r.query)
			}
		})
	}
}

func TestRemovingAGuardAcceptsMissingObjectsAndRights(t *testing.T) {
	missing, forbidden := status(404, metav1.StatusReasonNotFound), status(403, metav1.StatusReasonForbidden)
	got, server := runGuard(t, plan.VerbUnguard, missing, forbidden)
	if diff := cmp.Diff([]string{"DELETE" + bindingPath, "DELETE" + policyPath}, server.verbs()); diff != "" {
		t.Error(diff)
	}
	if got.Failure != nil || got.Observed.Presence != plan.Absent {
		t.Errorf("the guard was not removed: %+v", got)
	}
	if got, _ := runGuard(t, plan.VerbUnguard, status(500, "")); got.Failure == nil {
		t.Error("an error of the API server is not reported as a failure")
	}
}
