package kustomize_test

import (
	"context"
	"fmt"
	"testing/fstest"

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
