package cel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/cel"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const rendered = `
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web, labels: {optional: "true"}}, spec: {minAvailable: 1}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: shop-settings, namespace: elsewhere}}
`

func decode(stream string) ([]*unstructured.Unstructured, error) {
	return manifests.Decode("test.yaml", []byte(stream))
}

func filtered(ctx context.Context, expression string) (string, error) {
	filter, err := cel.NewFilter(expression)
	if err != nil {
		return "", err
	}
	objects, err := decode(rendered)
	if err != nil {
		return "", err
	}
	kept, err := filter.Transform(ctx, generator.Request{
		Namespace: "apps", Name: "shop", Parameters: map[string]any{"replicas": int64(1), "features": []any{"pdb"}},
	}, objects)
	var kinds []string
	for _, object := range kept {
		kinds = append(kinds, object.GetKind())
	}
	return strings.Join(kinds, " "), err
}

func TestAFilterKeepsWhatItsExpressionIsTrueFor(t *testing.T) {
	for expression, want := range map[string]string{
		`true`:                         "Deployment PodDisruptionBudget ConfigMap",
		`false`:                        "",
		`object.kind == "Deployment"`:  "Deployment",
		`object.apiVersion != "v1"`:    "Deployment PodDisruptionBudget",
		`parameters.replicas > 1`:      "",
		`parameters.replicas < 1.5`:    "Deployment PodDisruptionBudget ConfigMap",
		`"pdb" in parameters.features`: "Deployment PodDisruptionBudget ConfigMap",
		`has(object.spec)`:             "Deployment PodDisruptionBudget",
		`object.?spec.replicas.orValue(0) > parameters.replicas`:                         "Deployment",
		`object.metadata.name.startsWith(component.name + "-")`:                          "ConfigMap",
		`object.metadata.?namespace.orValue(component.namespace) == component.namespace`: "Deployment PodDisruptionBudget",
		`object.metadata.?labels["optional"].orValue("false") != "true"`:                 "Deployment ConfigMap",
		`object.kind.lowerAscii() in ["configmap"]`:                                      "ConfigMap",
	} {
		if got, err := filtered(t.Context(), expression); err != nil || got != want {
			t.Errorf("%s: want %q, got %q, %v", expression, want, got, err)
		}
	}
}

func TestAFilterSaysWhatIsWrong(t *testing.T) {
	for expression, want := range map[string]string{
		`object.kind ==`: "filter: ERROR: <input>:1:15: Syntax error",
		`kind == "a"`:    "undeclared reference to 'kind'",
		`"a"`:            `filter: the expression is of type string; want a boolean expression, such as object.kind != "Ingress"`,
		`object.kind`: "filter: Deployment.apps web: the value of the expression is of type string; want " +
			"true or false",
		`object.data.x == "a"`:     "filter: Deployment.apps web: no such key: data",
		`parameters.other == "a"`:  "filter: Deployment.apps web: no such key: other",
		`object.spec.replicas > 0`: "filter: PodDisruptionBudget.policy web: no such key: replicas",
	} {
		if _, err := filtered(t.Context(), expression); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want the error %q, got %v", expression, want, err)
		}
	}
}

func TestWhatAFilterCostsIsBounded(t *testing.T) {
	const list = "[0,1,2,3,4,5,6,7,8,9]"
	expression := "true"
	for name := range strings.SplitSeq("abcdefgh", "") {
		expression = fmt.Sprintf("%s.all(%s, %s)", list, name, expression)
	}
	if _, err := filtered(t.Context(), expression); err == nil ||
		!strings.Contains(err.Error(), "cost limit exceeded") {
		t.Errorf("got %v", err)
	}
}

func TestAFilterStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := filtered(ctx, "true"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// The filter removes the disruption budget for a single replica.
func ExampleNewFilter() {
	filter, err := cel.NewFilter(`object.kind != "PodDisruptionBudget" || parameters.replicas > 1`)
	if err != nil {
		fmt.Println(err)
		return
	}
	chart := generator.GeneratorFunc(func(context.Context, generator.Request) ([]client.Object, error) {
		objects, err := decode(rendered)
		return []client.Object{objects[0], objects[1]}, err
	})
	objects, err := generator.Chain(chart, filter).
		Generate(context.Background(), generator.Request{Parameters: map[string]any{"replicas": 1}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, object := range objects {
		fmt.Println(object.GetObjectKind().GroupVersionKind().Kind, object.GetName())
	}
	// Output: Deployment web
}
