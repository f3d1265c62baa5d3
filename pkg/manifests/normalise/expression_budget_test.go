package normalise_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

// withExpression returns a ConfigMap with an annotation and a value.
func withExpression(i int, annotation, expression, value string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{
			"name": fmt.Sprint("cm-", i), "annotations": map[string]any{"shop.example.com/" + annotation: expression},
		},
		"data": map[string]any{"value": value},
	}}
}

func TestTheExpressionsOfASetAreBounded(t *testing.T) {
	long := func(i int) string { return fmt.Sprintf("%d == 1 || %s", i, strings.Repeat("true || ", 230)+"true") }
	for name, manifest := range map[string]func(int) *unstructured.Unstructured{
		manifests.AnnotationIncludeWhen: func(i int) *unstructured.Unstructured {
			return withExpression(i, manifests.AnnotationIncludeWhen, long(i), "")
		},
		manifests.AnnotationReadyWhen: func(i int) *unstructured.Unstructured {
			return withExpression(i, manifests.AnnotationReadyWhen, "has(self.a) || "+long(i), "")
		},
		manifests.AnnotationExport: func(i int) *unstructured.Unstructured {
			return withExpression(i, manifests.AnnotationExport, fmt.Sprintf("e%d=%s", i, long(i)), "")
		},
		"holes": func(i int) *unstructured.Unstructured {
			if i == 0 {
				return withExpression(i, manifests.AnnotationExport, "a=self.data.value", "")
			}
			return withExpression(i, manifests.AnnotationBind, "true", "${{ "+long(i)+" }}")
		},
	} {
		t.Run(name, func(t *testing.T) {
			var few, many []*unstructured.Unstructured
			for i := range 100 {
				many = append(many, manifest(i))
			}
			few = many[:20]
			options := normalise.Options{
				Reconciler: "shop.example.com", Namespace: "a", Owner: manifests.Owner{Reconciler: "shop.example.com"},
				ScopeOf: func(schema.GroupVersionKind) (manifests.Scope, error) { return manifests.ScopeNamespaced, nil },
			}
			if _, err := normalise.Manifests(few, options); err != nil {
				t.Errorf("few: %.300v", err)
			}
			if _, err := normalise.Manifests(many, options); err == nil || !strings.Contains(err.Error(),
				"together contain more than 131072 bytes") {
				t.Errorf("many: got %.300v", err)
			}
		})
	}
}
