package gotemplate_test

import (
	"context"
	"fmt"
	"testing/fstest"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/gotemplate"
)

// An operator embeds its templates, and passes the file system to New.
func ExampleNew() {
	source := fstest.MapFS{
		"configmap.yaml": {Data: []byte(`
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Name }}-greeting
data:
  text: {{ .Values.greeting | quote }}
`)},
	}
	g, err := gotemplate.New(source, gotemplate.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	objects, err := g.Generate(context.Background(), generator.Request{
		Name:       "demo",
		Namespace:  "default",
		Parameters: map[string]any{"greeting": "hello"},
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
