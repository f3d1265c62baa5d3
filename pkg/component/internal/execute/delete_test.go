package execute

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// mapped is a mapper that knows a type, whether it is still served or not.
func mapped(gk schema.GroupKind) meta.RESTMapper {
	m := meta.NewDefaultRESTMapper([]schema.GroupVersion{{Group: gk.Group, Version: "v1"}})
	m.Add(gk.WithVersion("v1"), meta.RESTScopeNamespace)
	return m
}

func TestInstances(t *testing.T) {
	const (
		list       = "GET /apis/example.com/v1/widgets"
		definition = "GET /apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com"
	)
	gk := schema.GroupKind{Group: "example.com", Kind: "Widget"}
	crd := func(established string) answer {
		conditions := []any{map[string]any{"type": "NamesAccepted", "status": "True"}}
		if established != "" {
			conditions = append(conditions, map[string]any{"type": "Established", "status": established})
		}
		return answer{200, map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "widgets.example.com"},
			"status": map[string]any{"conditions": conditions},
		}}
	}
	pageNotFound := answer{404, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: 404, Reason: metav1.StatusReasonNotFound,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: metav1.CauseTypeUnexpectedServerResponse}}},
	}}
	for _, c := range []struct {
		name    string
		known   bool
		answers []answer
		want    []string
		found   int
		fails   bool
	}{
		{"are those that a list names", true, []answer{{200, map[string]any{
			"apiVersion": "example.com/v1", "kind": "WidgetList", "metadata": map[string]any{}, "items": []any{map[string]any{
				"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"namespace": "shop", "name": "a", "uid": "u1"},
			}},
		}}}, []string{list}, 1, false},
		{"are not known where the list is forbidden", true, []answer{status(403, metav1.StatusReasonForbidden)}, []string{list}, 0, true},
		{"are not known where a definition serves no version any more", false, []answer{crd("True")}, []string{definition}, 0, true},
		{"are not known where it stopped to serve a moment ago", true, []answer{pageNotFound, crd("True")}, []string{list, definition}, 0, true},
		{"are none of a definition that was not established yet", false, []answer{crd("False")}, []string{definition}, 0, false},
		{"are none of a definition that has no status yet", false, []answer{crd("")}, []string{definition}, 0, false},
		{"are none where the definition is gone", false, []answer{status(404, metav1.StatusReasonNotFound)}, []string{definition}, 0, false},
		{"are not known where the definition cannot be read", false, []answer{status(403, metav1.StatusReasonForbidden)}, []string{definition}, 0, true},
		{"are not known where definitions are not served", false, []answer{pageNotFound}, []string{definition}, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := &apiServer{answers: c.answers}
			e, _ := server.executor(t)
			if c.known {
				e.mapper = mapped(gk)
			}
			found, err := e.Instances(t.Context(), gk, "widgets.example.com")
			if diff := cmp.Diff(c.want, server.verbs()); diff != "" {
				t.Error(diff)
			}
			if len(found) != c.found || (err != nil) != c.fails {
				t.Errorf("found %v, %v", found, err)
			}
		})
	}
}

func TestOrphan(t *testing.T) {
	orphaned := func(o *unstructured.Unstructured) { o.SetLabels(nil) }
	for _, c := range []struct {
		name     string
		answers  []answer
		want     []string
		verb     plan.Verb
		presence plan.Presence
		failure  string
	}{
		{"takes our marks off", []answer{found(orphaned)}, []string{"PATCH " + single}, plan.VerbOrphan, plan.Present, ""},
		{"is content with what is gone", []answer{status(404, metav1.StatusReasonNotFound)}, []string{"PATCH " + single}, plan.VerbOrphan, plan.Absent, ""},
		{
			"reads what changed since it was observed",
			[]answer{status(409, metav1.StatusReasonConflict), found(nil)},
			[]string{"PATCH " + single, "GET " + single},
			plan.VerbRead, plan.Present, "",
		},
		{"says why it failed", []answer{status(403, metav1.StatusReasonForbidden)}, []string{"PATCH " + single}, plan.VerbOrphan, "", "Forbidden"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := &apiServer{answers: c.answers}
			e, _ := server.executor(t)
			a := action(plan.VerbOrphan, "")
			a.Object = nil
			got := e.Run(t.Context(), []plan.Action{a})[0]
			if diff := cmp.Diff(c.want, server.verbs()); diff != "" {
				t.Fatal(diff)
			}
			checkResult(t, got, c.verb, c.presence, c.failure)
			want := map[string]any{"metadata": map[string]any{
				"uid": "u1", "resourceVersion": "6",
				"labels":      map[string]any{reconciler + "/owner-id": nil},
				"annotations": map[string]any{reconciler + "/owner-id": nil, reconciler + "/digest": nil},
			}}
			if diff := cmp.Diff(want, server.requests[0].body); diff != "" {
				t.Error(diff)
			}
			if got := server.requests[0].contentType; got != "application/merge-patch+json" {
				t.Error(got)
			}
		})
	}
}
