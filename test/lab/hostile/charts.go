package main

import (
	"fmt"
	"strings"
)

// schemaBomb returns a schema that takes long to compile or to evaluate.
func (a *attack) schemaBomb() string {
	levels := 5 + a.IntN(60)
	keyword := a.one("anyOf", "oneOf", "allOf")
	var doubling strings.Builder
	doubling.WriteString(`{"$ref":"#/definitions/d0","definitions":{`)
	for i := range levels {
		fmt.Fprintf(&doubling, `"d%d":{"%s":[{"$ref":"#/definitions/d%d"},{"$ref":"#/definitions/d%d"}]},`, i, keyword, i+1, i+1)
	}
	fmt.Fprintf(&doubling, `"d%d":{"type":"string"}}}`, levels)
	depth := min(a.power(5), 50_000)
	return a.one(
		doubling.String(), `{"$ref":"#"}`, `{"additionalProperties":{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}}`,
		nested(`{"not":`, "{}", "}", depth), `{"pattern":"((a{100}){100}){100}"}`, `{"enum":[`+strings.Repeat("{},", depth)+`1]}`,
		`{"$ref":"http://127.0.0.1:1/a"}`, `{"$ref":"file:///etc/passwd"}`, `{"minimum":1e99999999}`, `{"multipleOf":1e-300}`,
		`{"properties":{"a":{"pattern":"(a|a)*b","maxLength":1e300}}}`, `{"required":[`+strings.Repeat(`"a",`, depth)+`"b"]}`,
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","$dynamicAnchor":"x","unevaluatedProperties":{"$dynamicRef":"#x"}}`,
	)
}

// chartKinds are charts.
func chartKinds() []kind {
	return []kind{
		{"chart schema", func(a *attack) {
			a.chart("values.schema.json", a.schemaBomb(), "templates/a.yaml", configMap("a", "", "b: c"))
			a.values(`{"a":` + nested(`{"a":`, `"`+strings.Repeat("a", 30)+`"`, "}", a.IntN(50)) + `}`)
		}},
		{"chart values", func(a *attack) {
			a.chart("values.yaml", a.yamlBomb(), "templates/a.yaml", configMap("a", "", "b: {{ toYaml .Values | sha256sum }}"))
		}},
		{"chart metadata", func(a *attack) {
			files := map[string]string{"Chart.yaml": a.yamlBomb(), "templates/a.yaml": configMap("a", "", "")}
			if a.IntN(2) == 0 {
				var dependencies strings.Builder
				for i := range min(a.power(4), 5000) {
					fmt.Fprintf(&dependencies, "{name: b, version: '*', alias: a%d, condition: 'a.b,c', tags: [t]}, ", i)
				}
				files["Chart.yaml"] = "{apiVersion: v2, name: a, version: 1.0.0, dependencies: [" + dependencies.String() + "]}"
				files["charts/b/Chart.yaml"] = "{apiVersion: v2, name: b, version: 1.0.0}"
				files["charts/b/values.yaml"] = "a: [" + strings.Repeat("{}, ", 1000) + "]"
				files["charts/b/templates/a.yaml"] = configMap("{{ .Chart.Name }}", "", "")
			}
			a.spec.Source = inline(files)
		}},
		{"chart imports", func(a *attack) {
			chart, below := "{apiVersion: v2, name: a, version: 1.0.0, dependencies: [%s]}", "a: {b: c}"
			var imports []string
			for i := range 5 + a.IntN(40) {
				imports = append(imports, fmt.Sprintf("{child: a, parent: a.x%d}", i))
			}
			a.chart("Chart.yaml", fmt.Sprintf(chart, "{name: b, version: 1.0.0, import-values: ["+strings.Join(imports, ", ")+"]}"),
				"charts/b/Chart.yaml", "{apiVersion: v2, name: b, version: 1.0.0}", "charts/b/values.yaml", below,
				"templates/a.yaml", configMap("a", "", "b: {{ toYaml .Values | sha256sum }}"))
		}},
		{"chart hooks", func(a *attack) {
			var hooks strings.Builder
			for i := range min(a.power(3), 300) {
				hooks.WriteString(configMap(fmt.Sprintf("h%d", i), fmt.Sprintf(", annotations: {helm.sh/hook: %q, "+
					"helm.sh/hook-weight: %q, helm.sh/hook-delete-policy: %q}", a.one("pre-install,post-upgrade", "pre-delete", "x", "post-delete,test"),
					a.one("1", "-99999999999", "a"), a.one("hook-succeeded", "before-hook-creation,hook-failed", "y")), ""))
			}
			a.chart("templates/a.yaml", hooks.String())
		}},
		{"chart generated", func(a *attack) {
			a.chart("templates/a.yaml", configMap("a", "", "b: {{ randAlphaNum 20 }}, c: {{ now | quote }}")+
				configMap("d", ", annotations: {fairlead.io/phase: 'pre-delete,post-delete'}", "e: {{ uuidv4 }}"))
		}},
		{"chart files", func(a *attack) {
			files := []string{".helmignore", a.one(strings.Repeat("**/", 50)+"a\n", strings.Repeat("*", 5000), "!*\n*\n", "[")}
			for i := range min(a.power(4), 4000) {
				files = append(files, fmt.Sprintf("%sf%d.txt", strings.Repeat("a/", i%50), i), "x")
			}
			a.chart(append(files, "templates/a.yaml", "{{ range $p, $_ := .Files.Glob `**` }}{{ $p }}{{ end }}{{ (.Files.Glob `**`).AsConfig }}",
				"templates/NOTES.txt", "{{ repeat 100000000 `a` }}")...)
		}},
		{"chart definitions", func(a *attack) { a.chart("crds/a.yaml", a.yamlBomb(), "templates/a.yaml", configMap("a", "", "")) }},
	}
}

// kustomizationKinds are kustomizations.
func kustomizationKinds() []kind {
	return []kind{
		{"kustomization", func(a *attack) {
			a.spec.Source = inline(map[string]string{
				"kustomization.yaml": a.one(
					"resources: [.]\n", "resources: [a.yaml]\ncomponents: [.]\n", "resources: [../a]\n", "resources: [b]\n",
					"resources: [a.yaml]\ntransformers: [a.yaml]\n", "resources: [https://example.com/a]\n", a.yamlBomb(),
					"resources: [a.yaml]\npatches: [{path: p.yaml, target: {kind: ConfigMap}}]\n",
					"resources: ["+strings.Repeat("a.yaml, ", 5000)+"]\n", "openapi: {path: p.yaml}\nresources: [a.yaml]\n",
					"resources: [a.yaml]\nreplacements: [{source: {kind: ConfigMap, fieldPath: data}, targets: [{select: {kind: ConfigMap}, "+
						"fieldPaths: [data.x], options: {create: true}}]}]\n",
					"configMapGenerator: [{name: a, literals: ["+strings.Repeat("a=b, ", 10000)+"]}]\n",
					"resources: [a.yaml]\nnamePrefix: "+strings.Repeat("a", 100000)+"\n", "helmCharts: [{name: a, repo: 'https://a'}]\n",
					"generators: [p.yaml]\n", "resources: [a.yaml]\nconfigurations: [p.yaml]\n", "vars: [{name: A, objref: {kind: B, name: c}}]\n",
				),
				"b/kustomization.yaml": "resources: [../]\n",
				"a.yaml":               a.one(configMap("a", "", "b: c"), a.yamlBomb(), strings.Repeat(configMap("a", "", ""), 2000)),
				"p.yaml":               a.one(a.yamlBomb(), "["+strings.Repeat("{op: copy, from: /data, path: /data/a}, ", 40)+"]"),
			})
		}},
		{"kustomization templates", func(a *attack) {
			a.spec.Source = inline(map[string]string{
				".fairlead-kustomize.yaml": a.one(a.yamlBomb(), "values: "+a.yamlBomb(), "include: ["+strings.Repeat("., ", 1000)+"]\n",
					"delimiters: {left: a, right: a}\n"),
				"kustomization.yaml": "resources: [a.yaml]\n",
				"a.yaml":             "{{ $_ := set .Values `a` .Values }}{{ " + a.one(functions...) + " .Values }}",
			})
		}},
	}
}
