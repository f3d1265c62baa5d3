package execute

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestCreateNamespace(t *testing.T) {
	created := answer{http.StatusCreated, map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop", "uid": "u1", "resourceVersion": "7"},
	}}
	for _, c := range []struct {
		name     string
		answer   answer
		verb     plan.Verb
		presence plan.Presence
		failure  string
	}{
		{"creates it without a mark", created, plan.VerbCreateNamespace, plan.Present, ""},
		{"is content where somebody was faster, and asks for no more", status(409, metav1.StatusReasonAlreadyExists), plan.VerbRead, "", ""},
		{"says why it failed", status(403, metav1.StatusReasonForbidden), plan.VerbCreateNamespace, "", "Forbidden"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := &apiServer{answers: []answer{c.answer}}
			e, _ := server.executor(t)
			mapper := meta.NewDefaultRESTMapper(nil)
			mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, meta.RESTScopeRoot)
			e.mapper = mapper
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
