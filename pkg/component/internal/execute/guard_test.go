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
	guardName   = "guard-us." + reconciler
	policyPath  = " /apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/" + guardName
	bindingPath = " /apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/" + guardName
)

func guardAction(verb plan.Verb) plan.Action {
	return plan.Action{
		Verb: verb, Owner: "us", OwnerName: "here/" + reconciler + "/example.com/Shop/shop/web",
		Key:         manifests.Key{Group: admission, Kind: "ValidatingAdmissionPolicy", Name: guardName},
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
	checkResult(t, got, plan.VerbGuard, plan.Unknown, "Forbidden")
	if len(server.requests) != 1 {
		t.Errorf("the executor sent the requests %v, want one", server.verbs())
	}
}

func TestAProbeCreatesADefinitionAsADryRun(t *testing.T) {
	refused := answer{422, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: 422,
		Reason:  metav1.StatusReasonForbidden,
		Message: "ValidatingAdmissionPolicy '" + guardName + "' with binding '" + guardName + "' denied request: x",
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
		{"another refusal fails", status(403, metav1.StatusReasonForbidden), plan.Unknown, "Forbidden"},
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

// guardIn returns the response with a policy or a binding that has the label of a guard.
func guardIn(uid, owner string) answer {
	return answer{200, map[string]any{"apiVersion": "v1", "kind": "X", "metadata": map[string]any{
		"name": guardName, "uid": uid, "labels": map[string]any{reconciler + "/guard-of": owner},
	}}}
}

func TestAGuardIsRemovedByUID(t *testing.T) {
	missing, forbidden := status(404, metav1.StatusReasonNotFound), status(403, metav1.StatusReasonForbidden)
	ok := answer{200, map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Success"}}
	for _, c := range []struct {
		name    string
		answers []answer
		want    []string
		uid     string
		failure plan.WaitReason
	}{
		{
			"an unknown guard is read first",
			[]answer{guardIn("u1", "us"), ok, missing},
			[]string{"GET" + bindingPath, "DELETE" + bindingPath, "GET" + policyPath},
			"u1", "",
		},
		{
			"an object of somebody else is not deleted",
			[]answer{guardIn("u1", "them"), guardIn("u2", "")},
			[]string{"GET" + bindingPath, "GET" + policyPath},
			"", "",
		},
		{
			"without the right to read it, a guard is deleted by name",
			[]answer{missing, forbidden, forbidden},
			[]string{"GET" + bindingPath, "GET" + policyPath, "DELETE" + policyPath},
			"", "",
		},
		{
			"another error is a failure",
			[]answer{status(500, metav1.StatusReasonInternalError)},
			[]string{"GET" + bindingPath},
			"", "InternalError",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, server := runGuard(t, plan.VerbUnguard, c.answers...)
			if diff := cmp.Diff(c.want, server.verbs()); diff != "" {
				t.Fatal(diff)
			}
			if c.failure != "" && (got.Failure == nil || got.Failure.Reason != c.failure) || c.failure == "" &&
				got.Failure != nil {
				t.Errorf("the failure is %v, want %q", got.Failure, c.failure)
			}
			for _, r := range server.requests {
				preconditions, _ := r.body["preconditions"].(map[string]any)
				if uid, _ := preconditions["uid"].(string); strings.HasPrefix(r.verb, "DELETE") && uid != c.uid {
					t.Errorf("the precondition of %s is the UID %q, want %q", r.verb, uid, c.uid)
				}
			}
		})
	}
}

func TestAGuardOfThisProcessIsRemovedWithoutARead(t *testing.T) {
	ok := answer{200, map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Success"}}
	server := &apiServer{answers: []answer{guardIn("p", "us"), guardIn("b", "us"), ok, ok}}
	e, _ := server.executor(t)
	for _, verb := range []plan.Verb{plan.VerbGuard, plan.VerbUnguard} {
		if got := e.Run(t.Context(), nil, []plan.Action{guardAction(verb)})[0]; got.Failure != nil {
			t.Fatalf("%s failed: %v", verb, got.Failure)
		}
	}
	want := []string{"PATCH" + policyPath, "PATCH" + bindingPath, "DELETE" + bindingPath, "DELETE" + policyPath}
	if diff := cmp.Diff(want, server.verbs()); diff != "" {
		t.Error(diff)
	}
}

func TestTheDeletionOfADefinitionIsTried(t *testing.T) {
	unsupported := answer{400, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: 400,
		Reason: metav1.StatusReasonBadRequest, Message: `admission webhook "w.example.com" does not support dry run`,
	}}
	for _, c := range []struct {
		name    string
		answers []answer
		verb    plan.Verb
		failure plan.WaitReason
	}{
		{
			"the API server accepts it",
			[]answer{{200, map[string]any{"kind": "Status", "apiVersion": "v1"}}},
			plan.VerbTryDelete, "",
		},
		{
			"the identity lacks the right",
			[]answer{status(403, metav1.StatusReasonForbidden)},
			plan.VerbTryDelete,
			plan.WaitForbidden,
		},
		{"a webhook supports no dry runs, so the rights were checked", []answer{unsupported}, plan.VerbTryDelete, ""},
		{
			"the object has changed, and is read",
			[]answer{status(409, metav1.StatusReasonConflict), status(404, metav1.StatusReasonNotFound)},
			plan.VerbRead, "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := &apiServer{answers: c.answers}
			e, _ := server.executor(t)
			got := e.Run(t.Context(), nil, []plan.Action{action(plan.VerbTryDelete, "")})[0]
			if got.Verb != c.verb || (got.Failure == nil) != (c.failure == "") || got.Failure != nil &&
				got.Failure.Reason != c.failure {
				t.Errorf("the result is %+v with failure %v", got, got.Failure)
			}
			r := server.requests[0]
			if dryRun, _ := r.body["dryRun"].([]any); !strings.HasPrefix(r.verb, "DELETE ") || len(dryRun) != 1 ||
				!strings.HasPrefix(r.query, "dryRun=All") {
				t.Errorf("the executor sent %s?%s with %v, want a dry run of a DELETE", r.verb, r.query, r.body)
			}
		})
	}
}
