package main

import (
	"fmt"
	"strings"
)

// functions are template functions that walk through their arguments.
var functions = []string{
	"add", "add1", "ceil", "int", "int64", "float64", "toString", "toStrings", "toJson", "toYaml", "toToml", "toRawJson",
	"toPrettyJson", "print", "printf `%v`", "quote", "len", "deepCopy", "mustDeepCopy", "sortAlpha", "uniq", "join `,`", "cat",
	"eq 1", "eq .Values", "has .Values (list .Values)", "without (list .Values)", "merge (dict)", "mergeOverwrite (dict)", "html",
	"urlquery", "js", "values", "keys", "max", "slice (list .Values) 0 1", "chunk 1 | toString", "typeOf", "kindOf",
	"default .Values", "coalesce .Values", "ternary .Values .Values true | print", "compact (list .Values) | print",
	"concat (list .Values) (list .Values) | print", "dict `a`", "list .Values .Values | toYaml", "required `a`",
}

// templateKinds are Go templates that nest or grow.
func templateKinds() []kind {
	return []kind{
		{"template cyclic", func(a *attack) {
			text := "{{ $_ := set .Values `a` .Values }}"
			if a.IntN(2) == 0 {
				text = "{{ $x := dict `b` (list 1) }}{{ $_ := set $x `a` (list $x) }}{{ $_ := set .Values `a` $x }}"
			}
			text += "{{ " + a.one(functions...) + " .Values }}"
			if a.IntN(2) == 0 {
				a.chart("templates/a.yaml", text)
			} else {
				a.template(text)
			}
		}},
		{"template deep", func(a *attack) {
			grow := a.one("list $x", "dict `a` $x", "list $x 1", "dict `a` (list $x)")
			a.template(fmt.Sprintf("{{ $x := list }}{{ range until %d }}{{ $x = %s }}{{ end }}{{ %s $x }}",
				a.power(6), grow, a.one(functions...)))
		}},
		{"template doubling", func(a *attack) {
			grow := a.one("list $x $x", "dict `a` $x `b` $x", "concat $x $x", "list $x | append $x", "(toJson $x) | list $x")
			a.template(fmt.Sprintf("{{ $x := list 1 }}{{ range until %d }}{{ $x = %s }}{{ end }}{{ %s $x }}",
				10+a.IntN(60), grow, a.one(functions...)))
		}},
		{"template long", func(a *attack) {
			part := a.one(`{},`, `a,`, `[],`, `{a: b},`, `"",`)
			list := fmt.Sprintf("x: [{{ repeat %d %q }}]", a.power(7), part)
			a.template(strings.Replace(configMap("a", "", "b: c"), "{apiVersion", "{"+list+", apiVersion", 1))
		}},
		{"template documents", func(a *attack) {
			a.template(fmt.Sprintf("{{ range $i := until %d }}%s{{ end }}", min(3000, a.power(5)),
				configMap("a{{ $i }}", "", "b: "+a.one("c", "{{ repeat 100 `x` }}"))))
		}},
		{"template large", func(a *attack) {
			a.template(configMap("a", "", fmt.Sprintf("b: {{ repeat %d %q }}", a.power(8), a.one("a", "\\0", "ä", `"`))))
		}},
	}
}

// slowTemplateKinds are Go templates that run without end, or are hard to parse.
func slowTemplateKinds() []kind {
	return []kind{
		{"template endless", func(a *attack) {
			a.template(a.one(
				"{{ define `x` }}{{ template `x` . }}{{ end }}{{ template `x` . }}",
				"{{ define `x` }}{{ include `x` . }}{{ include `x` . }}{{ end }}{{ include `x` . }}",
				"{{ tpl .Values.t . }}", "{{ range until 2000000000 }}{{ end }}", "{{ range untilStep 0 100 0 }}{{ end }}",
				"{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}",
				"{{ range until 100000 }}{{ $_ := sha256sum (repeat 100000 `a`) }}{{ end }}",
				"{{ range until 10000 }}{{ $_ := genPrivateKey `rsa` }}{{ end }}",
				"{{ range until 100000 }}{{ $_ := derivePassword 1 `long` `a` `b` `c` }}{{ end }}",
				"{{ range until 10000 }}{{ $_ := bcrypt `a` }}{{ end }}", "{{ genCA `a` 99999999 }}",
				"{{ regexReplaceAll `(a*)*b` (repeat 1000000 `a`) `c` }}", "{{ regexFindAll `` (repeat 10000000 `a`) -1 | len }}",
				"{{ randAlphaNum 1000000000 }}", "{{ repeat 1000000000 `a` | b64enc | b32enc | sha1sum }}",
				"{{ wrap 1 (repeat 10000000 `a `) }}", "{{ nindent 1000000000 `a` }}", "{{ indent 100000 (repeat 10000 `\n`) }}",
				"{{ seq 1 1000000000 }}", "{{ splitList `` (repeat 50000000 `a`) | len }}", "{{ adler32sum (repeat 900000000 `a`) }}",
			))
			a.values(`{"t":"{{ tpl .Values.t . }}{{ tpl .Values.t . }}"}`)
		}},
		{"template pattern", func(a *attack) {
			a.template(fmt.Sprintf("{{ %s `%s` %q }}", a.one("regexMatch", "regexFind", "mustRegexMatch"),
				a.one("((a{100}){100}){100}", nested("(", "a", ")*", 900), nested("(", "a", "){2}", 500),
					strings.Repeat(`\pL`, 16000), "(?i)"+strings.Repeat(`[^a]`, 10000)), strings.Repeat("a", 1000)))
		}},
		{"template nesting", func(a *attack) {
			depth := a.power(5)
			a.template(a.one(
				nested("{{ if true }}", "a", "{{ end }}", min(depth, 20000)), "{{ "+nested("(", "1", ")", depth)+" }}",
				"{{ tpl (repeat 1000000 `{{ if true }}`) . }}", "{{ "+strings.Repeat("1 | print | ", min(depth, 20000))+"print }}",
				"{{ tpl (printf `{{ %s1%s }}` (repeat 100000 `(`) (repeat 100000 `)`)) . }}",
				strings.Repeat("{{ define `a` }}{{ end }}", min(depth, 20000)),
			))
		}},
		{"template decode", func(a *attack) {
			function, bomb := "fromYaml", a.yamlBomb()
			switch a.IntN(3) {
			case 0:
				function, bomb = "fromJson", a.jsonBomb()
			case 1:
				function, bomb = "fromToml", a.tomlBomb()
			}
			a.spec.Source = inline(map[string]string{
				"all.yaml": fmt.Sprintf("{{ $x := %s (.Values.bomb) }}{{ %s $x }}", function, a.one("len", "toYaml", "print")),
			})
			a.values(`{"bomb":` + quoted(bomb) + `}`)
		}},
		{"template look-ups", func(a *attack) {
			look := a.one("lookup `v1` `ConfigMap` `` ``", "lookup `v1` `Secret` .Release.Namespace (printf `a%d` $i)",
				"lookup `v1` `Secret` `kube-system` ``", "lookup `a/b/c` `D` `e` `f`", "lookup (repeat 100000 `a`) `B` `` ``",
				"lookup `v1` `ConfigMap` .Release.Namespace (repeat 1000000 `a`)", "lookup `v1` (printf `Kind%d` $i) `` ``")
			a.chart("templates/a.yaml", fmt.Sprintf("{{ range $i := until %d }}{{ with $ }}{{ $_ := %s }}{{ end }}{{ end }}", a.power(6), look))
		}},
	}
}
