package kustomize_test

import (
	"context"
	"fmt"
	"testing/fstest"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/kustomize"
)

// At selects an overlay that builds on an adjacent folder.
func ExampleAt() {
	source := fstest.MapFS{
		"base/kustomization.yaml":    {Data: []byte("resources: [configmap.yaml]")},
		"base/configmap.yaml":        {Data: []byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: greeting}}")},
		"overlay/kustomization.yaml": {Data: []byte("namePrefix: demo-\nresources: [../base]")},
	}
	g, err := kustomize.New(kustomize.At(source, "overlay"), kustomize.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	objects, err := g.Generate(context.Background(), generator.Request{Name: "demo", Namespace: "default"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(objects[0].GetName())
	// Output: demo-greeting
}
