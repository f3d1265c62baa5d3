package render_test

import (
	"testing"
	"testing/fstest"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/render"
)

func TestTheFilesOfRepeatedObjectsAreNamed(t *testing.T) {
	const (
		config     = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
		templated  = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ $.Values.name | default \"a\" }}\n"
		repetition = "ConfigMap shop/a: rendered more than once; names are unique in a component"
	)
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"two templates of a chart": {
			map[string]string{
				"Chart.yaml":       "{apiVersion: v2, name: web, version: 1.0.0}",
				"templates/a.yaml": config, "templates/b.yaml": "# two\n" + templated,
			},
			repetition + "; ConfigMap shop/a is rendered by web/templates/a.yaml:4, web/templates/b.yaml",
		},
		"a chart and its sub-chart": {
			map[string]string{
				"Chart.yaml":                  "{apiVersion: v2, name: web, version: 1.0.0}",
				"charts/sub/Chart.yaml":       "{apiVersion: v2, name: sub, version: 1.0.0}",
				"charts/sub/templates/b.yaml": "# two\n" + config, "templates/a.yaml": config,
			},
			repetition + "; ConfigMap shop/a is rendered by web/charts/sub/templates/b.yaml:5, web/templates/a.yaml:4",
		},
		"one template of a chart": {
			map[string]string{
				"Chart.yaml":       "{apiVersion: v2, name: web, version: 1.0.0}",
				"templates/a.yaml": "{{ range list 1 2 }}\n---\n" + templated + "{{ end }}",
			},
			repetition + "; ConfigMap shop/a is rendered by web/templates/a.yaml",
		},
		"two bases of a kustomization": {
			map[string]string{
				"kustomization.yaml":     "resources: [one, two]",
				"one/kustomization.yaml": "resources: [a.yaml]", "one/a.yaml": config,
				"two/kustomization.yaml": "{resources: [b.yaml], namespace: shop}", "two/b.yaml": config,
			},
			repetition + "; ConfigMap shop/a is rendered by one/a.yaml:4, two/b.yaml:4",
		},
		"a document and another file of plain manifests": {
			map[string]string{"a.yaml": config + "---\n" + config, "b.yaml": config + "  namespace: shop\n"},
			repetition + "; ConfigMap shop/a is rendered by a.yaml:4, a.yaml:9, b.yaml:4",
		},
		"a Go template": {
			map[string]string{"a.yaml": config, "b.yaml": "{{ if true }}\n" + config + "{{ end }}"},
			repetition + "; ConfigMap shop/a is rendered by a.yaml:4, b.yaml:5",
		},
		"another contradiction": {
			map[string]string{
				"a.yaml": config + "  annotations: {fairlead.io/order: '1'}\n", "b.yaml": config + "data: {a: b}\n",
			},
			"ConfigMap shop/a: rendered more than once, at order 0 and at order 1; names are unique in a component, unless a " +
				"manifest has a purge-order before the next order, or the next manifest has update-policy recreate; " +
				"ConfigMap shop/a is rendered by a.yaml:4, b.yaml:4",
		},
	} {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{}
			for file, text := range c.files {
				files[file] = &fstest.MapFile{Data: []byte(text)}
			}
			capabilities, err := render.Capabilities("", nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = render.Dependents(t.Context(), render.Request{
				Source: files, Namespace: "shop", Name: "web", Capabilities: capabilities,
			})
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}
