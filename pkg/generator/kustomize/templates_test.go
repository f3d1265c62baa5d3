package kustomize_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/fairlead-io/fairlead/internal/fuzzing"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/kustomize"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestErrorsOfTemplates(t *testing.T) {
	const config = ".fairlead-kustomize.yaml"
	const kustomization = "resources: [a.yaml]"
	cases := map[string]struct {
		files map[string]string
		want  []string
	}{
		"unknown fields": {
			files: map[string]string{config: "# x\nsuffx: a\ndelimiters:\n  left: a\n  middle: b\n"},
			want:  []string{config + ":2: unknown field suffx: there are suffix,", config + ":5: unknown field middle"},
		},
		"fields of a wrong type": {
			files: map[string]string{config: "\ninclude: lib\nsuffix: [a]\n"},
			want:  []string{config + ":2: cannot unmarshal", config + ":3: cannot unmarshal"},
		},
		"text that is not YAML": {files: map[string]string{config: "a: 1\nb: [\n"}, want: []string{config + ":"}},
		"invalid values of fields": {
			files: map[string]string{
				config: "suffix: a/b\ndelimiters: {left: '[['}\nmissingKeys: Error\n\ninclude: [../lib, /lib]\n",
			},
			want: []string{
				config + `:1: suffix: "a/b" is a path`, config + ":2: delimiters: only one",
				config + `:3: missingKeys: "Error" is neither Fail nor Empty`,
				config + `:5: include: "../lib" leaves the source`, config + `:5: include: "/lib" is not a relative path`,
			},
		},
		"default values that are not a map": {
			files: map[string]string{config: "values:\n- 1\n"},
			want:  []string{config + ":2: values: want a map"},
		},
		"a key twice": {
			files: map[string]string{config: "suffix: a\nsuffix: b\n"},
			want:  []string{config + `:2: mapping key "suffix" already defined at line 1`},
		},
		"aliases that expand to too many nodes": {
			files: map[string]string{
				config: "values:\n  a: &a [" + strings.Repeat(
					"x,",
					5000,
				) + "x]\n  b: [" + strings.Repeat(
					"*a,",
					5000,
				) + "*a]\n",
			},
			want: []string{config + ":3: more than 200000 maps, lists, values and keys"},
		},
		"an ignore file that does not exist": {
			files: map[string]string{
				config: "ignoreFile: nothing",
			}, want: []string{config + `: ignoreFile: "nothing" does not exist`},
		},
		"an included folder that does not exist": {
			files: map[string]string{
				config: "include: [lib]",
			}, want: []string{config + `: include: "lib" is not a folder of the source`},
		},
		"templates that do not parse": {
			files: map[string]string{config: "", "a.yaml": "{{ if }}", "b.yaml": "\n{{ nothing }}"},
			want:  []string{"a.yaml:1: missing value for if", `b.yaml:2: function "nothing" not defined`},
		},
		"templates that fail, in several files": {
			files: map[string]string{
				config:               "",
				"kustomization.yaml": "resources: [a.yaml, b.yaml]",
				"a.yaml":             "\n{{ .Values.a }}",
				"b.yaml":             "{{ .Values.b }}",
			},
			want: []string{"a.yaml:2", `no entry for key "a"`, "b.yaml:1", `no entry for key "b"`},
		},
		"a kustomization that fails": {
			files: map[string]string{
				config:               "",
				"kustomization.yaml": "resources:\n{{ fail \"stop\" }}",
			}, want: []string{"kustomization.yaml:2", "stop"},
		},
		"a patch that fails when kustomize reads it": {
			files: map[string]string{
				config: "", "kustomization.yaml": kustomization + "\npatchesStrategicMerge: [p.yaml]", "a.yaml": configMap,
				"p.yaml": "{{ fail \"stop\" }}",
			},
			want: []string{"p.yaml:1", "stop"},
		},
		"a template whose output file already exists": {
			files: map[string]string{
				config:               "suffix: .tmpl",
				"kustomization.yaml": kustomization,
				"a.yaml":             configMap,
				"a.yaml.tmpl":        configMap,
			},
			want: []string{"a.yaml.tmpl: the output file of the template is a.yaml, which already exists"},
		},
		"a base with an invalid configuration": {
			files: map[string]string{
				"kustomization.yaml": "resources: [base]", "base/kustomization.yaml": "", "base/" + config: "\nsuffx: a\n",
				"other/" + config: "suffx: b",
			},
			want: []string{"base/" + config + ":2: unknown field suffx"},
		},
		"a remote base in the output of a template": {
			files: map[string]string{
				config:               "",
				"kustomization.yaml": "resources: ['https://{{ name }}example.com/a']",
			},
			want: []string{`kustomization.yaml: resources: "https://example.com/a" is a remote address`},
		},
		"helm charts in the output of a template": {
			files: map[string]string{
				config:               "",
				"kustomization.yaml": "generators: ['{{ print \"g.yaml\" }}']",
				"g.yaml": "apiVersion: {{ print \"builtin\" }}\nkind: HelmChartInflationGenerator\n" +
					"metadata: {name: a}\n",
			},
			want: []string{"kustomization.yaml: generators: HelmChartInflationGenerator a runs helm"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := renderOnce(t, sourceOf(c.files))
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("want %q in:\n%v", want, err)
				}
			}
			if strings.Contains(err.Error(), "other/") {
				t.Errorf("the error names a folder without references:\n%v", err)
			}
		})
	}
}

func TestBuildsHaveBounds(t *testing.T) {
	limits := generator.Limits{OutputBytes: 10_000, Objects: 3, AliasBytes: 1000, Duration: 10 * time.Second}
	bomb := "a: &a [" + strings.Repeat("x,", 100) + "x]\nb: [" + strings.Repeat("*a,", 100) + "*a]\n"
	self := "a: &a [*a]\n"
	doubling := map[string]string{
		"kustomization.yaml":     "resources: [l0]",
		"l20/kustomization.yaml": "resources: [a.yaml]",
		"l20/a.yaml":             configMap,
	}
	for i := range 20 {
		doubling[fmt.Sprintf("l%d/kustomization.yaml", i)] = fmt.Sprintf("resources: [../l%d, ../again%d]", i+1, i)
		doubling[fmt.Sprintf("again%d/kustomization.yaml", i)] = fmt.Sprintf(
			"namePrefix: p%d-\nresources: [../l%d]",
			i,
			i+1,
		)
	}
	cases := map[string]struct {
		files map[string]string
		want  string
	}{
		"aliases in a kustomization": {
			map[string]string{"kustomization.yaml": bomb},
			"kustomization.yaml: line 2: the aliases up to here",
		},
		"aliases in a resource": {
			map[string]string{"kustomization.yaml": "resources: [a.txt]", "a.txt": bomb},
			"a.txt: line 2: the aliases up to here",
		},
		"an alias that contains itself": {
			map[string]string{"kustomization.yaml": "resources: [a.txt]", "a.txt": self},
			"contains an alias of itself",
		},
		"aliases in a patch": {
			map[string]string{
				"kustomization.yaml": "patches:\n- patch: |\n    " + strings.ReplaceAll(bomb, "\n", "\n    "),
			},
			"aliases up to here",
		},
		"aliases in a plugin": {
			map[string]string{"kustomization.yaml": "transformers: [t.yaml]", "t.yaml": bomb},
			"t.yaml: line 2: the aliases",
		},
		"aliases in plain manifests":     {map[string]string{"a.yaml": bomb}, "a.yaml: line 2: the aliases"},
		"bases that are read many times": {doubling, "reads more than 10000 bytes"},
		"objects": {
			map[string]string{"kustomization.yaml": "configMapGenerator: [{name: a}, {name: b}, {name: c}, {name: d}]"},
			"renders 4 objects, and the limit is 3",
		},
		"objects of plain manifests": {
			map[string]string{"a.yaml": strings.Repeat(configMap+"---\n", 4)},
			"a.yaml:15: the limit of 3 objects",
		},
		"templates that never end": {
			map[string]string{".fairlead-kustomize.yaml": "", "a.yaml": "{{ range 9000000000000000000 }}{{ end }}"},
			"takes longer than the limit",
		},
		"templates that write too much": {
			map[string]string{".fairlead-kustomize.yaml": "", "a.yaml": "{{ repeat 100000000000 `x` }}"},
			"write more than 10000 bytes",
		},
		"templates that recurse": {
			map[string]string{
				".fairlead-kustomize.yaml": "",
				"a.yaml":                   "{{ define `x` }}{{ template `x` }}{{ end }}{{ template `x` }}",
			},
			"more than 200 levels deep",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			options := kustomize.Options{Limits: limits}
			if strings.Contains(c.want, "takes longer") {
				options.Limits.Duration = 200 * time.Millisecond
			}
			g, err := kustomize.New(sourceOf(c.files), options)
			if err == nil {
				_, err = g.Generate(t.Context(), generator.Request{})
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("want %q, got %.500v", c.want, err)
			}
		})
	}
}

func TestTemplatesHaveTheFunctionsOfTheOptions(t *testing.T) {
	options := kustomize.Options{Functions: template.FuncMap{"greet": func() string { return "hello" }}}
	g, err := kustomize.New(
		sourceOf(
			map[string]string{
				".fairlead-kustomize.yaml": "",
				"a.yaml":                   strings.Replace(configMap, "name: a", "name: {{ greet }}", 1),
			},
		),
		options,
	)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := g.Generate(t.Context(), generator.Request{})
	if err != nil || objects[0].GetName() != "hello" {
		t.Errorf("got %v, %v", objects, err)
	}
}

// The output of templates for one component must not influence a rendering for another component with other values.
func TestRenderingsDoNotInfluenceEachOther(t *testing.T) {
	g, err := kustomize.New(sourceOf(map[string]string{
		".fairlead-kustomize.yaml": "values: {name: default}",
		"kustomization.yaml":       "namePrefix: {{ .Values.name }}-\nresources: [a.yaml]",
		"a.yaml":                   "{{ $_ := set .Values \"name\" \"changed\" }}" + configMap,
	}), kustomize.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		parameters map[string]any
		want       string
	}{{map[string]any{"name": "x"}, "x-a"}, {nil, "default-a"}, {map[string]any{"name": "y"}, "y-a"}} {
		objects, err := g.Generate(t.Context(), generator.Request{Parameters: c.parameters})
		if err != nil || objects[0].GetName() != c.want {
			t.Errorf("want %s, got %v, %v", c.want, objects, err)
		}
	}
}

func FuzzConfiguration(f *testing.F) {
	f.Add("suffix: .tmpl\ndelimiters: {left: '[[', right: ']]'}\nvalues: {a: 1}\n", "[[ .Values.a ]]")
	f.Add("# nothing\n---\n", "{{ .Name }}")
	f.Add("include: [., .]\nignoreFile: a.yaml\nvalues: &a {b: *a}", "{{")
	fuzzing.Run(f, func(t *testing.T, config, template string) {
		g, err := kustomize.New(
			sourceOf(map[string]string{".fairlead-kustomize.yaml": config, "a.yaml": template}),
			kustomize.Options{
				Limits: generator.Limits{OutputBytes: 1 << 16, Duration: time.Second},
			},
		)
		if err != nil {
			if mistake, ok := errors.AsType[*manifests.FileError](err); ok && mistake.Line < 1 {
				t.Errorf("the error has no line: %v", err)
			}
			return
		}
		objects, err := g.Generate(t.Context(), generator.Request{})
		if err != nil && objects != nil {
			t.Error("parsing returned objects together with an error")
		}
	})
}
