package kustomize_test

import (
	"context"
	"fmt"
	"testing/fstest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/kustomize"
)

// An operator embeds its kustomization, and passes the file system to New.
func ExampleNew() {
	source := fstest.MapFS{
		"kustomization.yaml": {Data: []byte("namePrefix: demo-\nresources: [configmap.yaml]")},
		"configmap.yaml":     {Data: []byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: greeting}}")},
	}
	g, err := kustomize.New(source, kustomize.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	objects, err := g.Generate(context.Background(), generator.Request{Name: "demo", Namespace: "default"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, object := range objects {
		fmt.Println(object.GetObjectKind().GroupVersionKind().Kind, object.GetName())
	}
	// Output: ConfigMap demo-greeting
}

// A transformer changes the objects of a third-party chart after it is rendered.
func ExampleNewTransformer() {
	chart := generator.GeneratorFunc(func(context.Context, generator.Request) ([]client.Object, error) {
		return []client.Object{
			&corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: "greeting"},
				Data:       map[string]string{"text": "Hello"},
			},
		}, nil
	})
	changes, err := kustomize.NewTransformer(kustomize.Changes{Patches: []kustomize.Patch{{
		Target: &kustomize.Target{Kind: "ConfigMap"},
		Patch:  "[{op: replace, path: /data/text, value: Ahoy}]",
	}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	objects, err := generator.Chain(chart, changes).
		Generate(context.Background(), generator.Request{Name: "demo", Namespace: "default"})
	if err != nil {
		fmt.Println(err)
		return
	}
	if changed, ok := objects[0].(*unstructured.Unstructured); ok {
		fmt.Println(changed.Object["data"])
	}
	// Output: map[text:Ahoy]
}
