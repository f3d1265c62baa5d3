package generator_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

func TestForPassesTheComponentAsItsType(t *testing.T) {
	g := generator.For(func(_ context.Context, c *corev1.ConfigMap, req generator.Request) ([]client.Object, error) {
		return []client.Object{&corev1.Secret{StringData: c.Data, Type: corev1.SecretType(req.Name)}}, nil
	})
	component := &corev1.ConfigMap{Data: map[string]string{"a": "b"}}
	objects, err := g.Generate(t.Context(), generator.Request{Name: "web", Component: component})
	if err != nil {
		t.Fatal(err)
	}
	if secret, ok := objects[0].(*corev1.Secret); !ok || secret.StringData["a"] != "b" || secret.Type != "web" {
		t.Errorf("the generator returned %v", objects)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := g.Generate(ended, generator.Request{Component: component}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the context: error %v", err)
	}
	for name, other := range map[string]client.Object{"another type": &corev1.Secret{}, "no component": nil} {
		_, err := g.Generate(t.Context(), generator.Request{Component: other})
		if err == nil || !strings.Contains(err.Error(), "renders components of type *v1.ConfigMap") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestInputAsConvertsTheValueOfASource(t *testing.T) {
	type port struct {
		Number int64 `json:"number"`
	}
	req := generator.Request{Inputs: map[string]any{
		"settings": []any{map[string]any{"level": "debug"}},
		"port":     map[string]any{"number": int64(9007199254740993)},
	}}
	settings, found, err := generator.InputAs[[]map[string]string](req, "settings")
	if err != nil || !found || len(settings) != 1 || settings[0]["level"] != "debug" {
		t.Errorf("InputAs returned %v, %t, %v", settings, found, err)
	}
	if p, _, err := generator.InputAs[port](req, "port"); err != nil || p.Number != 9007199254740993 {
		t.Errorf("a large number is not exact: %v, %v", p, err)
	}
	if _, found, err := generator.InputAs[string](req, "missing"); found || err != nil {
		t.Errorf("a source without a value: %t, %v", found, err)
	}
	if got, found, err := generator.InputAs[[]string](req, "port"); err == nil || found || !slices.Equal(got, nil) ||
		!strings.Contains(err.Error(), "input port is no []string") {
		t.Errorf("a value of another type: %v, %t, %v", got, found, err)
	}
}
