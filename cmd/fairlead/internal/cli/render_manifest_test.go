package cli_test

import (
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("render of the manifest of a component", func() {
	const text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: {{ .Release.Name }}, namespace: {{ " +
		".Release.Namespace }}}, " +
		"data: {size: {{ .Values.size | quote }}, zone: {{ .Values.zone | quote }}, rate: {{ .Values.inputs.rate | quote }}}}"
	write := func(spec string) string {
		return filepath.Join(folder("shop.yaml", "apiVersion: fairlead.io/v1alpha1\nkind: Component\n"+
			"metadata: {name: shop, namespace: blue}\nspec: "+spec), "shop.yaml")
	}
	chart := func() string {
		return folder("app/Chart.yaml", "{apiVersion: v2, name: app, version: 0.1.0}", "app/templates/a.yaml", text,
			"app/crds/d.yaml",
			"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: ds.d.io}, "+
				"spec: {group: d.io, names: {kind: D, plural: ds}, scope: Cluster, versions: []}}",
			"rate.json", "5")
	}

	It("renders a folder as its source with its spec, and flags override it", func(ctx SpecContext) {
		dir := chart()
		file := write("{path: app, values: {size: 1, zone: a}, targetName: web, targetNamespace: green, helm: " +
			"{skipCRDs: true}, " +
			"inputs: [{name: rate, poll: {url: 'https://rates.example.com'}}]}")
		given := "rate=" + filepath.Join(dir, "rate.json")
		r := run(ctx, "fairlead", "render", "-f", file, dir, "--set", "zone=b", "--input", given)
		Expect(r.Err).To(BeEmpty())
		Expect(r.Code).To(Equal(0))
		Expect(r.Out).To(And(ContainSubstring("name: web\n  namespace: green"), ContainSubstring(`size: "1"`),
			ContainSubstring("zone: b"), ContainSubstring(`rate: "5"`), Not(ContainSubstring("CustomResourceDefinition"))))
		r = run(ctx, "fairlead", "render", "-f", file, dir, "--name", "other", "--include-crds", "--input", given)
		Expect(r.Err).To(BeEmpty())
		Expect(r.Out).To(And(ContainSubstring("name: other"), ContainSubstring("CustomResourceDefinition")))
	})

	It("renders the inline source, with the rules of ignored fields", func(ctx SpecContext) {
		inline := func(kind, data string) string {
			return write(`{values: {size: 2}, ignore: [{paths: [` + data + `]}], source: {inline: {files: {a.yaml: ` +
				`"{apiVersion: v1, kind: ` + kind + `, metadata: {name: a}, ` + data + `: {size: '{{ .Values.size }}'}}"}}}}`)
		}
		for _, flags := range [][]string{nil, {"--raw"}, {"--lint"}, {"--validate"}, {"--graph"}} {
			r := run(ctx, append([]string{"fairlead", "render", "-f", inline("ConfigMap", "data")}, flags...)...)
			Expect(r.Err).To(BeEmpty())
			Expect(r.Code).To(Equal(0))
			if len(flags) == 0 || flags[0] == "--raw" {
				Expect(r.Out).To(ContainSubstring(`size: "2"`))
			}
		}
		r := run(ctx, "fairlead", "render", "-f", inline("Secret", "stringData"))
		Expect(r.Code).To(Equal(2))
		Expect(r.Err).To(ContainSubstring(`spec.source.inline: Secret blue/a: ignored path "stringData"`))
	})

	DescribeTable("refuses what only a cluster has:", func(ctx SpecContext, spec, message string) {
		r := run(ctx, "fairlead", "render", "-f", write(spec))
		Expect(r.Code).To(Equal(2))
		Expect(strings.Join(strings.Fields(r.Err), " ")).To(ContainSubstring(message))
	},
		Entry("a source", "{source: {configMap: {name: a}}}",
			"the manifest has no inline source, and render reads no cluster"),
		Entry("values", "{valuesFrom: [{kind: Secret, name: a}], source: {inline: {files: {a.yaml: ''}}}}",
			`the manifest refers to the Secret "a", and render reads no cluster`),
		Entry("a function", "{generator: Function, function: {url: 'https://f.example.com'}}", "the manifest has a function"),
	)
})
