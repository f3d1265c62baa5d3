package gotemplate_test

import (
	"testing"
	"testing/fstest"
	"text/template"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/gotemplate"
)

func TestWhatIsProvenOfTemplates(t *testing.T) {
	const own = "own"
	for text, want := range map[string]bool{
		"{{ .Values.a }}":                       true,
		"{{ readFile `x.txt` }}":                true,
		"{{ randAlpha 3 }}":                     false,
		"{{ lookup `v1` `Pod` `` `a` | len }}":  false,
		"{{ now.Year }}":                        false,
		"{{ " + own + " }}":                     false,
		"{{ if .Values.no }}{{ own }}{{ end }}": true,
	} {
		t.Run(text, func(t *testing.T) {
			g, err := gotemplate.New(fstest.MapFS{
				"a.yaml": {Data: []byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: '" + text + "'}}")},
				"x.txt":  {Data: []byte("x")},
			}, gotemplate.Options{Functions: template.FuncMap{own: func() string { return "x" }}})
			if err != nil {
				t.Fatal(err)
			}
			objects, proven, err := generator.Prove(t.Context(), g, generator.Request{
				Parameters: map[string]any{"a": "b", "no": false},
			})
			if err != nil || len(objects) != 1 || proven != want {
				t.Errorf("got %d objects, proven %t, %v; want proven %t", len(objects), proven, err, want)
			}
		})
	}
}
