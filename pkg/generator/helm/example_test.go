package helm_test

import (
	"context"
	"fmt"
	"testing/fstest"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/helm"
)

// An operator embeds its chart, and passes the file system to New.
func ExampleNew() {
	chart := fstest.MapFS{
		"Chart.yaml":  {Data: []byte("{apiVersion: v2, name: greeting, version: 1.0.0}")},
		"values.yaml": {Data: []byte("greeting: hello")},
		"templates/configmap.yaml": {Data: []byte(`
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-greeting
data:
  text: {{ .Values.greeting }} {{ .Values.whom }}
`)},
	}
	g, err := helm.New(chart, helm.Options{AnnotationPrefix: "greeter.example.io"})
	if err != nil {
		fmt.Println(err)
		return
	}
	objects, err := g.Generate(context.Background(), generator.Request{
		Name:       "demo",
		Namespace:  "default",
		Revision:   1,
		Parameters: map[string]any{"whom": "world"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, object := range objects {
		fmt.Println(object.GetObjectKind().GroupVersionKind().Kind, object.GetName())
	}
	// Output: ConfigMap demo-greeting
}

// A program that publishes charts asks which files a rendering does not depend on.
func ExampleIgnored() {
	chart := fstest.MapFS{
		".helmignore": {Data: []byte("ci/\n*.md\n")}, "Chart.yaml": {}, "README.md": {}, "ci/values.yaml": {},
		"values.yaml": {},
	}
	ignored, err := helm.Ignored(chart)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range []string{"README.md", "ci", "values.yaml"} {
		info, err := chart.Stat(name)
		fmt.Println(name, err == nil && ignored(name, info))
	}
	// Output:
	// README.md true
	// ci true
	// values.yaml false
}
