package execute

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestCreateNamespaceSendsOnePOST(t *testing.T) {
	created := answer{http.StatusCreated, map[string]any{
		"apiVersion": "v1", "kind": "Namespace",
		"metadata": map[string]any{"name": "shop", "uid": "u1", "resourceVersion": "7"},
	}}
	for _, c := range []struct {
		name     string
		answer   answer
		verb     plan.Verb
		presence plan.Presence
		failure  plan.WaitReason
	}{
		{"creates the namespace without label and annotations", created, plan.VerbCreateNamespace, plan.Present, ""},
		{"accepts an existing namespace", status(409, metav1.StatusReasonAlreadyExists), plan.VerbRead, plan.Unknown, ""},
		{
			"returns the reason of a failure", status(403, metav1.StatusReasonForbidden), plan.VerbCreateNamespace, plan.Unknown,
			"Forbidden",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := &apiServer{answers: []answer{c.answer}}
			e, _ := server.executor(t)
			mapper := meta.NewDefaultRESTMapper(nil)
			mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, meta.RESTScopeRoot)
			e.writer.clients.mapper = mapper
			got := e.Run(t.Context(), nil, []plan.Action{{
				Verb: plan.VerbCreateNamespace, Key: manifests.Key{Kind: "Namespace", Name: "shop"}, Version: "v1", Owner: "us",
			}})[0]
			checkResult(t, got, c.verb, c.presence, c.failure)
			if diff := cmp.Diff([]string{"POST /api/v1/namespaces"}, server.verbs()); diff != "" {
				t.Fatal(diff)
			}
			want := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop"}}
			if diff := cmp.Diff(want, server.requests[0].body); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The marks must be in the request that creates the namespace, because the label proves who created it.
func TestCreateOwnedNamespaceSetsTheMarks(t *testing.T) {
	found := func(labels map[string]any) answer {
		return answer{http.StatusOK, map[string]any{
			"apiVersion": "v1", "kind": "Namespace",
			"metadata": map[string]any{"name": "shop", "uid": "u1", "resourceVersion": "7", "labels": labels},
		}}
	}
	exists := status(409, metav1.StatusReasonAlreadyExists)
	const post, get = "POST /api/v1/namespaces", "GET /api/v1/namespaces/shop"
	for _, c := range []struct {
		name     string
		answers  []answer
		verb     plan.Verb
		presence plan.Presence
		owner    string
		want     []string
	}{
		{
			"creates the namespace",
			[]answer{found(map[string]any{reconciler + "/owner-id": "us"})},
			plan.VerbCreateNamespace, plan.Present, "us",
			[]string{post},
		},
		{
			"reads a namespace that another client created",
			[]answer{exists, found(nil)},
			plan.VerbRead, plan.Present, "",
			[]string{post, get},
		},
		{
			"reads a namespace that an earlier request created",
			[]answer{exists, found(map[string]any{reconciler + "/owner-id": "us"})},
			plan.VerbRead, plan.Present, "us",
			[]string{post, get},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := &apiServer{answers: c.answers}
			e, _ := server.executor(t)
			mapper := meta.NewDefaultRESTMapper(nil)
			mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, meta.RESTScopeRoot)
			e.writer.clients.mapper = mapper
			got := e.Run(t.Context(), nil, []plan.Action{{
				Verb: plan.VerbCreateNamespace, Key: manifests.Key{Kind: "Namespace", Name: "shop"}, Version: "v1", Owner: "us",
				OwnerName: "Shop a/us",
			}})[0]
			checkResult(t, got, c.verb, c.presence, "")
			if diff := cmp.Diff(c.want, server.verbs()); diff != "" {
				t.Fatal(diff)
			}
			if got.Observed.Owner != c.owner {
				t.Errorf("the namespace has the owner %q, want %q", got.Observed.Owner, c.owner)
			}
			want := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{
				"name": "shop", "labels": map[string]any{reconciler + "/owner-id": "us"},
				"annotations": map[string]any{
					reconciler + "/owner-id": "Shop a/us", reconciler + "/object": "Namespace shop",
					reconciler + "/delete-policy": string(metav1alpha1.DeleteIfEmpty),
				},
			}}
			if diff := cmp.Diff(want, server.requests[0].body); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestForbiddenRequestsInDeletionPhases(t *testing.T) {
	const ask = "GET /api/v1/namespaces/shop"
	forbidden, missing := status(403, metav1.StatusReasonForbidden), status(404, metav1.StatusReasonNotFound)
	namespace := func(deleted any) answer {
		return answer{http.StatusOK, map[string]any{
			"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop", "deletionTimestamp": deleted},
		}}
	}
	terminating := namespace("2026-01-02T03:04:05Z")
	for _, c := range []struct {
		name     string
		verb     plan.Verb
		phase    manifests.Phase
		answers  []answer
		presence plan.Presence
		failure  plan.WaitReason
		want     []string
	}{
		{
			"a forbidden create in a terminating namespace fails because of the namespace", plan.VerbCreate,
			manifests.PhasePostDelete,
			[]answer{forbidden, terminating},
			plan.Unknown, plan.WaitNamespaceTerminating,
			[]string{"POST " + collection, ask},
		},
		{
			"a forbidden create in another namespace fails because of the right", plan.VerbCreate, manifests.PhasePostDelete,
			[]answer{forbidden, namespace(nil)},
			plan.Unknown, "Forbidden",
			[]string{"POST " + collection, ask},
		},
		{
			"a forbidden create in a missing namespace fails because of the right", plan.VerbCreate, manifests.PhasePreDelete,
			[]answer{forbidden, missing},
			plan.Unknown, "Forbidden",
			[]string{"POST " + collection, ask},
		},
		{
			"a forbidden create of a dependent does not read the namespace", plan.VerbCreate, manifests.PhaseApply,
			[]answer{forbidden},
			plan.Unknown, "Forbidden",
			[]string{"POST " + collection},
		},
		{
			"an unreadable object in a terminating namespace counts as deleted", plan.VerbRead, manifests.PhasePreDelete,
			[]answer{forbidden, terminating},
			plan.Absent, "",
			[]string{"GET " + single, ask},
		},
		{
			"an unreadable object in another namespace does not count as deleted", plan.VerbRead, manifests.PhasePreDelete,
			[]answer{forbidden, namespace(nil)},
			plan.Unknown, "Forbidden",
			[]string{"GET " + single, ask},
		},
		{
			"a forbidden read of a dependent does not read the namespace", plan.VerbRead, manifests.PhaseApply,
			[]answer{forbidden},
			plan.Unknown, "Forbidden",
			[]string{"GET " + single},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := &apiServer{answers: c.answers}
			e, _ := server.executor(t)
			a := action(c.verb, metav1alpha1.UpdateReplace)
			a.Object.Settings.Phase = c.phase
			got := e.ForNamespace("shop").Run(t.Context(), nil, []plan.Action{a})[0]
			checkResult(t, got, c.verb, c.presence, c.failure)
			if diff := cmp.Diff(c.want, server.verbs()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The list of the objects in a namespace is older with each repetition of the request, so the next pass repeats it.
func TestDeleteNamespaceSendsOneRequest(t *testing.T) {
	server := &apiServer{answers: []answer{status(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests)}}
	e, _ := server.executor(t)
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, meta.RESTScopeRoot)
	e.writer.clients.mapper = mapper
	got := e.Run(t.Context(), nil, []plan.Action{{
		Verb: plan.VerbDelete, Key: manifests.Key{Kind: "Namespace", Name: "shop"}, Version: "v1", Owner: "us",
	}})[0]
	checkResult(t, got, plan.VerbDelete, plan.Unknown, "TooManyRequests")
	if diff := cmp.Diff([]string{"DELETE /api/v1/namespaces/shop"}, server.verbs()); diff != "" {
		t.Error(diff)
	}
}
