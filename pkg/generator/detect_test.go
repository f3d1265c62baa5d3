package generator_test

import (
	"testing"
	"testing/fstest"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

func TestDetect(t *testing.T) {
	cases := map[string]struct {
		files []string
		want  generator.Engine
	}{
		"a chart": {
			files: []string{"Chart.yaml", "templates/a.yaml"},
			want:  generator.EngineHelm,
		},
		"a kustomization":                {files: []string{"kustomization.yaml"}, want: generator.EngineKustomize},
		"a kustomization ending in yml":  {files: []string{"kustomization.yml"}, want: generator.EngineKustomize},
		"a kustomization without ending": {files: []string{"Kustomization"}, want: generator.EngineKustomize},
		"templates of a kustomization": {
			files: []string{".fairlead-kustomize.yaml", "kustomization.yaml.tmpl"},
			want:  generator.EngineKustomize,
		},
		"a chart with a kustomization": {
			files: []string{"Chart.yaml", "kustomization.yaml"},
			want:  generator.EngineHelm,
		},
		"templates": {files: []string{"a.yaml"}, want: generator.EngineGoTemplate},
		"nothing":   {want: generator.EngineGoTemplate},
		"a Chart.yaml in a sub-folder is ignored": {files: []string{"sub/Chart.yaml"}, want: generator.EngineGoTemplate},
		"a folder named Chart.yaml is ignored":    {files: []string{"Chart.yaml/a.txt"}, want: generator.EngineGoTemplate},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			source := fstest.MapFS{}
			for _, file := range c.files {
				source[file] = &fstest.MapFile{}
			}
			got, err := generator.Detect(source)
			if err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("want %s, got %s", c.want, got)
			}
		})
	}
}
