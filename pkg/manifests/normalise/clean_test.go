package normalise_test

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

func TestTheStatusIsDroppedWhereItIsASubresource(t *testing.T) {
	definition := func(subresources string) string {
		return `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec: {group: example.com, names: {kind: Thing}, scope: Namespaced, versions: [{name: v1, ` + subresources + `}]}
---`
	}
	for _, c := range []struct {
		name, definition, manifest string
		answer                     bool
		err                        error
		kept                       bool
		asked                      int
	}{
		{"the status of a built-in type is " +
			"removed", "", "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, status: {x: y}}", false, nil, false, 0},
		{
			"the status of a type that the set defines with the subresource is " +
				"removed", definition("subresources: {status: {}}"),
			"{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}, status: {x: y}}", false, nil, false, 0,
		},
		{
			"the status of a type that the set defines without the subresource is " +
				"kept", definition("served: true"), "{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}, status: {x: y}}",
			true, nil, true, 0,
		},
		{
			"the status of a type that the cluster serves with the subresource is " +
				"removed", "", "{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}, status: {x: y}}", true,
			nil, false, 1,
		},
		{
			"the status of a type that the cluster serves without the subresource is " +
				"kept", "", "{apiVersion: gateway.networking.k8s.io/v1, kind: Thing, metadata: {name: a}, status: {x: y}}", false,
			nil, true, 1,
		},
		{"the cluster is not queried for a manifest with a null " +
			"status", "", "{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}, status: null}", false, nil, false, 0},
		{
			"the status of a type that is not served is " +
				"removed", "", "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}, status: {x: y}}", false,
			nil, false, 0,
		},
		{
			"an error of the query is " +
				"returned", "", "{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}, status: {x: y}}", false,
			errors.New("down"), false, 1,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := 0
			o := options
			o.StatusIsSubresource = func(schema.GroupVersionKind) (bool, error) {
				asked++
				return c.answer, c.err
			}
			got, err := normalise.Manifests(decode(t, c.definition+"\n"+c.manifest), o)
			if asked != c.asked {
				t.Errorf("the cluster was queried %d times", asked)
			}
			if c.err != nil {
				if err == nil || !strings.Contains(err.Error(), c.err.Error()) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range got {
				if o.Key.Kind == "CustomResourceDefinition" {
					continue
				}
				if _, kept := o.Body.Object["status"]; kept != c.kept {
					t.Errorf("kept: %v", kept)
				}
			}
		})
	}
}

func TestAnnotationsThatAreTooLargeAreNamed(t *testing.T) {
	_, err := normalise.Manifests(
		decode(
			t,
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {small: x, large: "+strings.Repeat(
				"x",
				300_000,
			)+"}}}",
		),
		options,
	)
	if err == nil || !strings.Contains(err.Error(), "ConfigMap shop/a: annotations have 300") ||
		!strings.Contains(err.Error(), "large has 300000") {
		t.Errorf("got %.200v", err)
	}
}
