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
