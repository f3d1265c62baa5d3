package generator_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// The function gets the component as its type, so it needs no parameters.
func ExampleFor() {
	greet := generator.For(func(_ context.Context, g *gadget.Gadget, req generator.Request) ([]client.Object, error) {
		return []client.Object{&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: req.Name}, Data: map[string]string{"text": g.Spec.Parameters["text"]},
		}}, nil
	})
	component := &gadget.Gadget{Spec: gadget.GadgetSpec{Parameters: map[string]string{"text": "ahoy"}}}
	objects, err := greet.Generate(context.Background(), generator.Request{Name: "hello", Component: component})
	fmt.Println(objects[0].GetName(), err)
	// Output: hello <nil>
}

// The event source settings returns the data of ConfigMaps as its part.
func ExampleInputAs() {
	req := generator.Request{Inputs: map[string]any{"settings": []any{map[string]any{"level": "debug"}}}}
	settings, found, err := generator.InputAs[[]map[string]string](req, "settings")
	fmt.Println(settings[0]["level"], found, err)
	// Output: debug true <nil>
}
