package gotemplate_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/fuzzing"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/gotemplate"
)

// Without limits, each of these templates would exhaust the memory or the stack of the operator, or run forever.
func TestTemplatesThatWouldHurtTheOperatorEnd(t *testing.T) {
	const (
		tooMuch = "the templates write more than 1048576 bytes"
		tooDeep = "templates are nested more than 200 levels deep"
		nested  = "nest more than 1000 deep"
		itself  = "the value contains the map itself"
		tooLong = "rendering takes longer than the limit of 200ms"
	)
	doubled := func(start, step string) string {
		return `{{ $x := ` + start + ` }}{{ range until 60 }}{{ $x = ` + step + ` }}{{ end }}`
	}
	cases := map[string]struct{ template, want string }{
		"a text repeated many times":     {`{{ $x := repeat 1000000000000 "x" }}`, tooMuch},
		"a billion spaces":               {`{{ $x := indent 1000000000000 "x" }}`, tooMuch},
		"a billion spaces on a new line": {`{{ $x := nindent 1000000000000 "x" }}`, tooMuch},
		"a billion numbers":              {`{{ $x := until 1000000000 }}`, tooMuch},
		"a billion numbers downwards":    {`{{ $x := until -1000000000 }}`, tooMuch},
		"a billion numbers as text":      {`{{ $x := seq 1000000000 }}`, tooMuch},
		"numbers that overflow": {
			`{{ $x := untilStep 9223372036854775800 9223372036854775807 100 }}`,
			"out of range",
		},
		"a billion random letters": {`{{ $x := randAlphaNum 1000000000000 }}`, tooMuch},
		"a billion random bytes":   {`{{ $x := randBytes 1000000000000 }}`, tooMuch},
		"a replacement for each of many matches": {
			`{{ $y := repeat 10000 "y" }}{{ $x := replace "y" $y $y }}`,
			tooMuch,
		},
		"a replacement of the empty text between all characters": {
			`{{ $y := repeat 10000 "y" }}{{ $x := replace "" $y $y }}`,
			tooMuch,
		},
		"a replacement by a regular expression": {
			`{{ $y := repeat 10000 "y" }}{{ $x := regexReplaceAll "y" $y $y }}`,
			tooMuch,
		},
		"a replacement that repeats the match": {
			`{{ $y := repeat 1000 "y" }}{{ $x := regexReplaceAll ".*" $y (repeat 2000 "$0") }}`,
			tooMuch,
		},
		"long separators": {
			`{{ $y := repeat 10000 "y" }}{{ $x := join $y (splitList "" $y) }}`,
			tooMuch,
		},
		"long line breaks": {
			`{{ $y := repeat 10000 "y" }}{{ $x := wrapWith 1 $y $y }}`,
			tooMuch,
		},
		"a text that doubles":                     {doubled(`"x"`, `print $x $x`), tooMuch},
		"a text that doubles by a format":         {doubled(`"x"`, `printf "%s%s" $x $x`), tooMuch},
		"a text that doubles by quotes":           {doubled("`\"`", `quote $x`), tooMuch},
		"a text that doubles by an encoding":      {doubled(`"x"`, `$x | b32enc | b32enc`), tooMuch},
		"a text that doubles by JSON":             {doubled("`\"`", `toJson $x`), tooMuch},
		"a list that doubles":                     {doubled(`list 1`, `concat $x $x`), tooMuch},
		"a list of lists that is written":         {doubled(`list 1`, `list $x $x`) + `{{ $x }}`, tooMuch},
		"a list of lists that is written as YAML": {doubled(`list 1`, `list $x $x`) + `{{ toYaml $x }}`, tooMuch},
		"a list of lists that is written as JSON": {
			doubled(`list 1`, `list $x $x`) + `{{ toPrettyJson $x }}`,
			tooMuch,
		},
		"a map of maps that is written as TOML": {
			doubled(`dict`, `dict "a" $x "b" $x`) + `{{ toToml $x }}`,
			tooMuch,
		},
		"a list of lists that is copied": {
			doubled(`list 1`, `list $x $x`) + `{{ $y := deepCopy $x }}`,
			tooMuch,
		},
		"a list of lists that is converted to text": {
			doubled(`list 1`, `list $x $x`) + `{{ $y := toString $x }}`,
			tooMuch,
		},
		"maps of maps that are merged": {
			doubled(`dict`, `dict "a" $x "b" $x`) + `{{ $y := merge (dict) $x }}`,
			tooMuch,
		},
		"a list of lists that is escaped": {
			doubled(`list 1`, `list $x $x`) + `{{ $y := html $x }}`,
			tooMuch,
		},
		"a map that contains itself":         {`{{ $x := dict }}{{ $_ := set $x "x" $x }}`, itself},
		"a map that contains itself, deeper": {`{{ $x := dict }}{{ $_ := set $x "x" (list (dict "y" $x)) }}`, itself},
		"values that contain themselves":     {`{{ $_ := set .Values "a" . }}`, itself},
		"a map that a merge puts into itself": {
			`{{ $x := dict "y" dict }}{{ $_ := mergeOverwrite $x (dict "y" (dict "x" $x)) }}`,
			nested,
		},
		"a merge of maps that changes both": {
			`{{ $x := dict }}{{ $q := dict "r" $x }}{{ $a := dict "x" $x "z" $q }}` +
				`{{ range until 20 }}{{ $_ := mustMerge $a (dict "x" $q "z" $a "w" $a) }}{{ end }}`,
			nested,
		},
		"a deep list, as a text": {
			`{{ $x := list }}{{ range until 3000 }}{{ $x = list $x }}{{ end }}{{ $y := print $x }}`,
			nested,
		},
		"a deep list, in parentheses": {
			`{{ $x := list }}{{ range until 3000 }}{{ $x = list $x }}{{ end }}{{ ($x) }}`,
			nested,
		},
		"a deep map, as YAML": {
			`{{ $x := dict }}{{ range until 3000 }}{{ $x = dict "a" $x }}{{ end }}{{ toYaml $x }}`,
			nested,
		},
		"a deep map, copied": {
			`{{ $x := dict }}{{ range until 3000 }}{{ $x = dict "a" $x }}{{ end }}{{ $y := deepCopy $x }}`,
			nested,
		},
		"a deep map, in a map": {
			`{{ $x := dict }}{{ range until 3000 }}{{ $x = dict "a" $x }}{{ end }}{{ $y := set (dict) "a" $x }}`,
			nested,
		},
		"a deep map, in a branch": {
			`{{ $x := dict }}{{ range until 3000 }}{{ $x = dict "a" $x }}{{ end }}{{ if true }}{{ with $x }}{{ . }}{{ end }}{{ end }}`,
			nested,
		},
		"a deep map, as a number": {
			`{{ $x := dict }}{{ range until 3000 }}{{ $x = dict "a" $x }}{{ end }}{{ add1 $x }}`,
			nested,
		},
		"a list of lists, as a number": {doubled(`list 1`, `list $x $x`) + `{{ add1 $x }}`, tooMuch},
		"a list of lists, as a key":    {doubled(`list 1`, `list $x $x`) + `{{ $y := dict $x 1 }}`, tooMuch},
		"many comparisons":             {`{{ $x := untilStep 0 100000 1 }}{{ $y := uniq $x }}`, tooMuch},
		"many chunks":                  {`{{ $x := until 100000 }}{{ $y := chunk 1 $x }}`, tooMuch},
		"a large regular expression": {
			"{{ regexMatch " +
				"`(abcdefghijklmnopqrstuvwxyz){1000}(abcdefghijklmnopqrstuvwxyz){1000}` `a` }}",
			"compiles to more than 50000 instructions",
		},
		"many matches":                {`{{ $x := regexFindAll "" (repeat 500000 "a") -1 }}`, tooMuch},
		"a large YAML text":           {`{{ $x := fromYaml (print "[" (repeat 100000 "{},") "]") }}`, "more than"},
		"a deep YAML text":            {`{{ $x := fromYaml (print (repeat 5000 "[") (repeat 5000 "]")) }}`, nested},
		"a deep JSON text":            {`{{ $x := fromJson (repeat 5000 "[") }}`, nested},
		"a deep TOML text":            {`{{ $x := fromToml (print "a = " (repeat 5000 "[")) }}`, nested},
		"a TOML text with a deep key": {`{{ $x := fromToml (print "a" (repeat 5000 ".a") " = 1") }}`, nested},
		"nested actions": {
			strings.Repeat(`{{ if true }}`, 400_000),
			"a.yaml:1: actions nest more than 1000 deep",
		},
		"nested actions in tpl": {
			"{{ tpl (repeat 20000 `{{ if true }}`) . }}",
			"actions nest more than 1000 deep",
		},
		"alternatives without end": {
			"{{ if true }}" + strings.Repeat("\n{{ else if true }}", 2000),
			"a.yaml:1001: actions nest more than 1000 deep",
		},
		"nested parentheses": {"{{ " + strings.Repeat("(", 1_000_000), "actions nest more than 1000 deep"},
		"nested actions whose ends are in strings": {
			strings.Repeat("{{ if eq `{{ end }}` \"{{ end }}\" }}", 2000),
			"actions nest more than 1000 deep",
		},
		"many actions": {strings.Repeat("{{1}}", 500_000), "have more than 400000 words"},
		"many documents without manifests": {
			`{{ range until 10000 }}---{{ "\na\n" }}{{ end }}`, "there may be more mistakes than these 1000",
		},
		"many small nodes": {
			`apiVersion: v1{{ "\n" }}x: [{{ repeat 201000 "a," }}{{ repeat 100 "a," }}]`,
			"a.yaml (rendered):2: more than 200000 maps, lists, values and keys",
		},
		"deep manifests": {`x: {{ repeat 5000 "[" }}{{ repeat 5000 "]" }}`, "nest more than 1000 deep"},
		"a recursion of template": {
			`{{ define "x" }}{{ template "x" . }}{{ end }}{{ template "x" . }}`,
			tooDeep,
		},
		"a recursion of template without data": {
			`{{ define "x" }}{{ template "x" }}{{ end }}{{ template "x" }}`,
			tooDeep,
		},
		"a recursion of block": {
			`{{ block "x" . }}{{ if true }}{{ template "x" . }}{{ end }}{{ end }}`,
			tooDeep,
		},
		"many small texts in a map": {
			`{{ $x := dict }}{{ range until 10000 }}{{ $_ := set $x (print .) (repeat 1000 "x") }}{{ end }}`,
			tooMuch,
		},
		"aliases of aliases": {
			`{{ $x := fromYaml "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d]" }}`,
			"aliases up to here expand to more than 10000 bytes",
		},
		"a loop without end and without output": {
			`{{ $x := until 10000 }}{{ range $x }}{{ range $x }}{{ range $x }}{{ end }}{{ end }}{{ end }}`,
			tooLong,
		},
		"a loop over a number": {`{{ range 9000000000000000000 }}{{ end }}`, tooLong},
		"a loop in tpl": {
			"{{ tpl `{{ range 9000000000000000000 }}{{ continue }}{{ end }}` . }}",
			tooLong,
		},
		"more objects than allowed": {
			"{{ range until 6 }}---\n{apiVersion: v1, kind: A, metadata: {name: a}}\n{{ end }}",
			"a.yaml (rendered):11: the limit of 5 objects is exceeded here",
		},
		"aliases in rendered manifests": {
			"apiVersion: v1\nkind: A\nmetadata: {name: a}\nx: &x {{ repeat 6000 \"x\" }}\ny: [*x, *x]\n",
			"a.yaml (rendered):5: the aliases up to here expand to more than 10000 bytes",
		},
	}
	limits := generator.Limits{OutputBytes: 1 << 20, Objects: 5, AliasBytes: 10_000, Duration: 10 * time.Second}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			options := gotemplate.Options{Limits: limits}
			if c.want == tooLong {
				options.Limits.Duration = 200 * time.Millisecond
			}
			err := renderOnce(t, sourceOf(map[string]string{"a.yaml": c.template}), options)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("want %q, got %.500v", c.want, err)
			}
		})
	}
}

func TestLimitsCanBeRaised(t *testing.T) {
	source := sourceOf(
		map[string]string{
			"a.yaml": configMap +
				`{{ define "x" }}{{ if . }}{{ template "x" (rest .) }}{{ end }}{{ end }}{{ template "x" (until 300) }}`,
		},
	)
	if err := renderOnce(t, source, gotemplate.Options{}); err == nil {
		t.Error("the default limit is not enforced")
	}
	if err := renderOnce(t, source, gotemplate.Options{Limits: generator.Limits{Depth: 400}}); err != nil {
		t.Error(err)
	}
}

// For any template, Generate must return without a panic or a stack overflow, and must not return objects together with
// an error.
func FuzzTemplates(f *testing.F) {
	for _, seed := range []string{
		`{{ define "x" }}{{ template "x" . }}{{ end }}{{ template "x" . }}`,
		`{{ $x := dict "a" 1 }}{{ $_ := set $x "x" $x }}{{ $x }}`,
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Name | default `a` }}}\n",
		`{{ range $i, $e := list 1 2 }}{{ if $i }}{{ break }}{{ else with $e }}{{ . | print | quote }}{{ end }}{{ end }}`,
		"{{ tpl `{{ include .Name . }}` (dict `Name` `a.yaml`) }}",
		`{{ (index (fromYaml "a: [1]") "a") | toJson | b64enc | repeat 3 | sha256sum }}`,
		`{{ block "b" $ }}{{ untilStep 1 -5 -2 | join "," }}{{ end }}{{- /* c */ -}}`,
	} {
		f.Add(seed)
	}
	fuzzing.Run(f, func(t *testing.T, text string) {
		g, err := gotemplate.New(sourceOf(map[string]string{"a.yaml": text}), gotemplate.Options{
			Limits: generator.Limits{OutputBytes: 1 << 16, Duration: 5 * time.Second},
		})
		if err != nil {
			return
		}
		objects, err := g.Generate(t.Context(), generator.Request{Parameters: map[string]any{"a": int64(1)}})
		if err != nil && (objects != nil || strings.Contains(err.Error(), "panicked")) {
			t.Errorf("got %v, %v", objects, err)
		}
	})
}
