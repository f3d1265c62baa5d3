package input

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

func TestExportsOfAComponent(t *testing.T) {
	const waits = "it waits for export host of Database shop/db: "
	for _, c := range []struct {
		name           string
		status         any
		value, message string
	}{
		{"a text", map[string]any{"exports": map[string]any{"host": "h", "other": "o"}}, `"h"`, ""},
		{"a map", map[string]any{"exports": map[string]any{"host": map[string]any{"a": int64(1)}}}, `{"a":1}`, ""},
		{"no status", nil, "", waits + "the component has published no value yet"},
		{"a status that is no map", "x", "", waits + "the component has published no value yet"},
		{
			"exports that are no map",
			map[string]any{"exports": []any{"host"}},
			"",
			waits + "the component has published no value yet",
		},
		{
			"other exports",
			map[string]any{"exports": map[string]any{"b": "", "a": ""}},
			"",
			waits + "the component has published no value yet; it has published a, b",
		},
		{
			"null",
			map[string]any{"exports": map[string]any{"host": nil}},
			"",
			waits + "the component has published no value yet; it has published host",
		},
		{
			"a large value",
			map[string]any{"exports": map[string]any{"host": strings.Repeat("x", 20000)}},
			"",
			waits + "the value has 20002 bytes, more than 16384",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			ref := Reference{
				Reference: generator.Reference{Kind: metav1alpha1.ComponentReference, Namespace: "shop", Name: "db"},
				kind:      "Database", wanted: []wantedExport{{name: "host"}, {name: "maybe", optional: true}},
			}
			obj := &unstructured.Unstructured{Object: map[string]any{"status": c.status}}
			if err := ref.setExports(exportsIn(obj, ref.wanted)); err != nil {
				t.Fatal(err)
			}
			message := ""
			if failure := passerror.Of(missingExports([]Reference{ref})); failure != nil {
				message = failure.Message
			}
			if got := string(ref.Data()["host"]); got != c.value || message != c.message {
				t.Errorf("got %s, %q; want %s, %q", got, message, c.value, c.message)
			}
		})
	}
}
