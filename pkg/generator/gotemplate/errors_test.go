package gotemplate_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/gotemplate"
)

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"

func sourceOf(files map[string]string) fs.FS {
	source := fstest.MapFS{}
	for name, text := range files {
		source[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return source
}

func TestErrors(t *testing.T) {
	cases := map[string]struct {
		files   map[string]string
		options gotemplate.Options
		want    []string
		// not is a text that the error does not have.
		not string
	}{
		"templates that do not parse": {
			files: map[string]string{"a.yaml": "a: 1\n{{ if }}\n", "b/c.yaml": "\n\n{{ nothing }}"},
			want:  []string{"a.yaml:2: missing value for if", `b/c.yaml:3: function "nothing" not defined`},
		},
		"keys that do not exist, in several files": {
			files: map[string]string{"a.yaml": "a: 1\n{{ .Values.missing }}\n", "b.yaml": "\n{{ .Valuse }}"},
			want: []string{
				`a.yaml:2:10: executing "a.yaml"`,
				`no entry for key "missing"`,
				"b.yaml:2",
				`no entry for key "Valuse"`,
			},
		},
		"a key that does not exist, inside tpl": {
			files: map[string]string{"a.yaml": "\n{{ tpl \"\\n{{ .Values.missing }}\" . }}\n"},
			want:  []string{"a.yaml:2", "tpl:2", `no entry for key "missing"`},
		},
		"a required value": {
			files: map[string]string{"a.yaml": "\n{{ required \"set the size\" (get .Values \"size\") }}"},
			want:  []string{"a.yaml:2", "set the size"},
		},
		"an included template that fails": {
			files: map[string]string{
				"a.yaml": "{{ include \"x\" . }}",
				"_x.tpl": "{{ define \"x\" }}\n{{ fail \"stop\" }}{{ end }}",
			},
			want: []string{"a.yaml:1", "_x.tpl:2", "stop"},
		},
		"a template that does not exist": {
			files: map[string]string{"a.yaml": "\n{{ include \"x\" . }}"},
			want:  []string{"a.yaml:2", `no template "x"`},
		},
		"a recursion by include": {
			files: map[string]string{"a.yaml": `{{ define "x" }}{{ include "x" . }}{{ end }}{{ include "x" . }}`},
			want:  []string{"templates are nested more than 200 levels deep"},
		},
		"a recursion by tpl": {
			files: map[string]string{
				"a.yaml": "{{ define \"x\" }}{{ tpl `{{ include \"x\" . }}` . }}{{ end }}{{ include \"x\" . }}",
			},
			want: []string{"templates are nested more than 200 levels deep"},
		},
		"more output than allowed": {
			files:   map[string]string{"a.yaml": `{{ range until 1000 }}0123456789{{ end }}`},
			options: gotemplate.Options{Limits: generator.Limits{OutputBytes: 5000}},
			want:    []string{"render template: a.yaml: the templates write more than 5000 bytes"},
		},
		"more output than allowed, once": {
			files: map[string]string{
				"a.yaml": `{{ range until 1000 }}0123456789{{ end }}`, "b.yaml": `{{ range until 1000 }}0123456789{{ end }}`,
			},
			options: gotemplate.Options{Limits: generator.Limits{OutputBytes: 5000}},
			want:    []string{"5000 bytes, where included templates and results of functions count too"},
			not:     "b.yaml",
		},
		"more output than allowed, in included text that is not used": {
			files: map[string]string{
				"a.yaml": `{{ define "x" }}{{ repeat 1000 "0" }}{{ end }}{{ range until 10 }}{{ $x := include "x" . }}{{ end }}`,
			},
			options: gotemplate.Options{Limits: generator.Limits{OutputBytes: 5000}},
			want:    []string{": the templates write more than 5000 bytes"},
		},
		"rendered text that is not YAML, and a manifest without a name": {
			files: map[string]string{
				"a.yaml": "{{/* one line */}}\n{{ range until 3 }}\n{{ end }}\na: [",
				"b.yaml": configMap + "---\n\napiVersion: v1\nkind: ConfigMap\n",
			},
			want: []string{"a.yaml (rendered):6: invalid YAML", "b.yaml (rendered):7: no metadata.name"},
		},
		"text that is not YAML as argument of fromYaml": {
			files: map[string]string{"a.yaml": "\n{{ fromYaml \"a: [\" }}"},
			want:  []string{"a.yaml:2", "fromYaml: "},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := renderOnce(t, sourceOf(c.files), c.options)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("want %q in:\n%v", want, err)
				}
			}
			if c.not != "" && strings.Contains(err.Error(), c.not) {
				t.Errorf("want no %q in:\n%v", c.not, err)
			}
			if len(err.Error()) > 1000 {
				t.Errorf("the error is too long: %d characters", len(err.Error()))
			}
		})
	}
}

func renderOnce(t *testing.T, source fs.FS, options gotemplate.Options) error {
	t.Helper()
	g, err := gotemplate.New(source, options)
	if err != nil {
		return err
	}
	_, err = g.Generate(t.Context(), generator.Request{})
	return err
}

func TestEnvironmentAndNetworkAreNotReachable(t *testing.T) {
	for _, function := range []string{`env "HOME"`, `expandenv "$HOME"`, `getHostByName "localhost"`} {
		err := renderOnce(t, sourceOf(map[string]string{"a.yaml": "{{ " + function + " }}"}), gotemplate.Options{})
		if err == nil || !strings.Contains(err.Error(), "not defined") {
			t.Errorf("%s: %v", function, err)
		}
	}
}
