package execute

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// mapped returns a REST mapper that has a resource for the given type. The API server need not serve the type.
func mapped(gk schema.GroupKind) meta.RESTMapper {
	m := meta.NewDefaultRESTMapper([]schema.GroupVersion{{Group: gk.Group, Version: "v1"}})
	m.Add(gk.WithVersion("v1"), meta.RESTScopeNamespace)
	return m
}

func TestInstancesOfAManagedType(t *testing.T) {
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
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"metadata": map[string]any{"name": "widgets.example.com"},
			"status":   map[string]any{"conditions": conditions},
		}}
	}
	pageNotFound := answer{404, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: 404,
		Reason:  metav1.StatusReasonNotFound,
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
		{"are the objects of a list", true, []answer{{200, map[string]any{
			"apiVersion": "example.com/v1", "kind": "WidgetList", "metadata": map[string]any{}, "items": []any{map[string]any{
				"apiVersion": "example.com/v1", "kind": "Widget",
				"metadata": map[string]any{"namespace": "shop", "name": "a", "uid": "u1"},
			}},
		}}}, []string{list}, 1, false},
		{
			"are unknown if the list is forbidden", true,
			[]answer{status(403, metav1.StatusReasonForbidden)},
			[]string{list},
			0,
			true,
		},
		{
			"are unknown if the definition serves no version any more", false,
			[]answer{crd("True")},
			[]string{definition},
			0,
			true,
		},
		{
			"are unknown if the definition stopped to serve after discovery", true,
			[]answer{pageNotFound, crd("True")},
			[]string{list, definition},
			0, true,
		},
		{"are none if the definition was never established", false, []answer{crd("False")}, []string{definition}, 0, false},
		{"are none if the definition has no status yet", false, []answer{crd("")}, []string{definition}, 0, false},
		{
			"are none if the definition does not exist", false,
			[]answer{status(404, metav1.StatusReasonNotFound)},
			[]string{definition},
			0, false,
		},
		{
			"are unknown if the definition cannot be read", false,
			[]answer{status(403, metav1.StatusReasonForbidden)},
			[]string{definition},
			0, true,
		},
		{"are unknown if definitions are not served", false, []answer{pageNotFound}, []string{definition}, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := &apiServer{answers: c.answers}
			e, _ := server.executor(t)
			if c.known {
				e.writer.clients.mapper = mapped(gk)
			}
			found, err := e.Instances(t.Context(), gk, Definition{Name: "widgets.example.com"})
			if diff := cmp.Diff(c.want, server.verbs()); diff != "" {
				t.Error(diff)
			}
			if len(found) != c.found || (err != nil) != c.fails {
				t.Errorf("the definitions of the type are %v, with the error %v", found, err)
			}
		})
	}
}
