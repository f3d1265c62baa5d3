package kustomize_test

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/versus"
	"github.com/fairlead-io/fairlead/pkg/generator/kustomize"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const benchmarkDeployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-%d
  labels: {tier: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: registry.example.com/web:1.0
        envFrom: [{configMapRef: {name: settings}}]
        resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {memory: 256Mi}}
---
apiVersion: v1
kind: Service
metadata: {name: web-%[1]d}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
`

// BenchmarkGenerate compares the engine with the kustomize library alone, which reads from its own file system in
// memory.
func BenchmarkGenerate(b *testing.B) {
	var resources strings.Builder
	for i := range 25 {
		_, _ = fmt.Fprintf(&resources, "---\n"+benchmarkDeployment, i)
	}
	files := map[string]string{
		"base/resources.yaml": resources.String(),
		"base/kustomization.yaml": "resources: [resources.yaml]\n" +
			"configMapGenerator: [{name: settings, literals: [level=info]}]",
		"kustomization.yaml": "resources: [base]\nnamespace: shop\nnamePrefix: prod-\n" +
			"images: [{name: registry.example.com/web, newTag: '2.0'}]\n" +
			"patches: [{target: {kind: Deployment}, patch: '[{\"op\": \"replace\", \"path\": \"/spec/replicas\", \"value\": " +
			"3}]'}]",
	}
	g, err := kustomize.New(sourceOf(files), kustomize.Options{})
	if err != nil {
		b.Fatal(err)
	}
	engine := func() error {
		_, err := g.Generate(b.Context(), generator.Request{Name: "demo"})
		return err
	}
	bare := filesys.MakeFsInMemory()
	for name, text := range files {
		if err := bare.WriteFile("/"+name, []byte(text)); err != nil {
			b.Fatal(err)
		}
	}
	versus.Compare(b, engine, func() error {
		built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(bare, "/")
		if err != nil {
			return err
		}
		text, err := built.AsYaml()
		if err != nil {
			return err
		}
		_, err = manifests.Decode("built", text)
		return err
	})
}
