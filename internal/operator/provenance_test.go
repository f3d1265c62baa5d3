package operator

import (
	"context"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// traced returns a request that renders files with values. The files are given as names and contents.
func traced(values string, files ...string) generator.Request {
	inline := map[string]string{}
	for i := 0; i < len(files); i += 2 {
		inline[files[i]] = files[i+1]
	}
	spec := v1alpha1.ComponentSpec{Source: v1alpha1.Source{Inline: &v1alpha1.InlineSource{Files: inline}}}
	if values != "" {
		spec.Values = &runtime.RawExtension{Raw: []byte(values)}
	}
	return generator.Request{Namespace: "apps", Name: "shop", Revision: 1, Component: newComponent(spec)}
}

func wantedMap(name string, field ...string) Wanted {
	w := Wanted{Key: manifests.Key{Kind: "ConfigMap", Namespace: "apps", Name: name}}
	if len(field) > 0 {
		w.At = func(o *unstructured.Unstructured) (any, bool) {
			value, found, _ := unstructured.NestedFieldNoCopy(o.Object, field...)
			return value, found
		}
	}
	return w
}

const mapOf = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "

var chartFiles = []string{
	"Chart.yaml", "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
	"values.yaml", "color: red\nsizes: [1, 2]\nextra: {shown: true}\nrandom: false\n",
	"crds/types.yaml", mapOf + "definition}\n",
	"templates/web.yaml", mapOf + "web}\ndata:\n  color: {{ .Values.color }}-{{ .Values.shade }}\n  sizes: {{ join " +
		"\"+\" .Values.sizes | quote }}\n  name: {{ .Release.Name }}\n",
	"templates/more.yaml", "{{ if .Values.extra.shown }}\n" + mapOf + "more}\n{{ end }}",
	"templates/dice.yaml", mapOf + "dice}\ndata: {roll: {{ randAlphaNum 9 }}}\n",
}

var _ = Describe("Trace", func() {
	DescribeTable("finds the file and the values of an object or field that is rendered",
		func(ctx SpecContext, req generator.Request, wanted Wanted, file string, values ...ValueOrigin) {
			p, err := Trace(ctx, req, wanted)
			Expect(err).NotTo(HaveOccurred())
			Expect(p.Rendered).NotTo(BeNil())
			Expect(p.File).To(Equal(file))
			Expect(p.Values).To(ConsistOf(values))
			Expect(p.Unknown).To(BeEmpty())
		},
		Entry("by two values of a chart", traced(`{"shade": "dark"}`, chartFiles...), wantedMap("web", "data", "color"),
			"shop/templates/web.yaml",
			ValueOrigin{"color", "the chart's values.yaml"}, ValueOrigin{"shade", "spec.values"}),
		Entry("by the items of a list", traced("", chartFiles...), wantedMap("web", "data", "sizes"),
			"shop/templates/web.yaml",
			ValueOrigin{"sizes[0]", "the chart's values.yaml"}, ValueOrigin{"sizes[1]", "the chart's values.yaml"}),
		Entry("by no value", traced("", chartFiles...), wantedMap("web", "data", "name"), "shop/templates/web.yaml"),
		Entry("only if a value is set", traced("", chartFiles...), wantedMap("more"), "shop/templates/more.yaml",
			ValueOrigin{"extra.shown", "the chart's values.yaml"}),
		Entry("by a crds folder", traced("", chartFiles...), wantedMap("definition"), "shop/crds/types.yaml"),
		Entry("by templates", traced(`{"color": "red"}`, "a/web.yaml", mapOf+"web}\ndata: {color: {{ .Values.color }}}\n"),
			wantedMap("web"), "a/web.yaml",
			ValueOrigin{"color", "spec.values"}),
		Entry("by a kustomization", traced("", "kustomization.yaml", "resources: [base]\nnamePrefix: my-\n",
			"base/kustomization.yaml", "resources: [web.yaml]\n", "base/web.yaml", mapOf+"web}\n"), wantedMap("my-web"),
			"base/web.yaml"),
		Entry("by a generator of a kustomization", traced("", "kustomization.yaml",
			"configMapGenerator: [{name: made, literals: [a=b], options: {disableNameSuffixHash: true}}]\n"), wantedMap("made"),
			"kustomization.yaml"),
	)

	It("reports that renderings differ", func(ctx SpecContext) {
		p, err := Trace(ctx, traced("", chartFiles...), wantedMap("dice"))
		Expect(err).NotTo(HaveOccurred())
		Expect(p.File).To(Equal("shop/templates/dice.yaml"))
		Expect(p.Unknown).To(ContainSubstring("repeated renderings differ"))
	})

	It("names the Secret with a value, and reports values that cannot be changed",
		func(ctx SpecContext) {
			files := append(slices.Clone(chartFiles), "templates/strict.yaml",
				"{{ if ne .Values.color \"red\" }}{{ fail \"red only\" }}{{ end }}")
			req := traced("", files...)
			component, ok := req.Component.(*v1alpha1.Component)
			Expect(ok).To(BeTrue())
			component.Spec.ValuesFrom = []metav1alpha1.ValuesReference{{Kind: metav1alpha1.SecretReference, Name: "login"}}
			req.References = generator.References{secret("login"): data("values.yaml", "shade: dark\n")}
			p, err := Trace(ctx, req, wantedMap("web", "data", "color"))
			Expect(err).NotTo(HaveOccurred())
			Expect(p.Values).To(ConsistOf(ValueOrigin{"shade", "spec.valuesFrom[0], Secret login"}))
			Expect(p.Unknown).To(Equal("for 1 value, the component cannot be rendered with another value"))
		})

	It("names the input with a value, unless another place sets the value", func(ctx SpecContext) {
		req := traced(`{"shade": "dark"}`, chartFiles...)
		component, ok := req.Component.(*v1alpha1.Component)
		Expect(ok).To(BeTrue())
		component.Spec.Inputs = []v1alpha1.Input{
			{Name: "tones", Path: "color", Poll: &v1alpha1.PollInput{}},
			{Name: "names", Path: "shade", Object: &v1alpha1.ObjectInput{}},
			{Name: "extra", Object: &v1alpha1.ObjectInput{Optional: true}},
		}
		var err error
		req.Inputs, err = GivenInputs(component, map[string]any{"tones": "blue", "names": "pale"})
		Expect(err).NotTo(HaveOccurred())
		p, err := Trace(ctx, req, wantedMap("web", "data", "color"))
		Expect(err).NotTo(HaveOccurred())
		Expect(p.Values).To(ConsistOf(ValueOrigin{"color", "spec.inputs[0] (tones)"}, ValueOrigin{"shade", "spec.values"}))
		p, err = Trace(ctx, req, wantedMap("more"))
		Expect(err).NotTo(HaveOccurred())
		Expect(p.Values).To(ConsistOf(ValueOrigin{"extra.shown", "the chart's values.yaml"}))
	})

	It("finds nothing for an object that is not rendered", func(ctx SpecContext) {
		Expect(Trace(ctx, traced("", chartFiles...), wantedMap("none"))).To(Equal(Provenance{}))
	})
})

var _ = Describe("A request for origins", func() {
	DescribeTable("does not change the rendered objects", func(ctx SpecContext, req generator.Request) {
		g, err := NewGenerator(RenderOptions{})
		Expect(err).NotTo(HaveOccurred())
		plain, err := g.Generate(context.Context(ctx), req)
		Expect(err).NotTo(HaveOccurred())
		var files []string
		req.Locate = func(o generator.Origin) { files = append(files, o.Kind+" "+o.Name+" "+o.File) }
		located, err := g.Generate(ctx, req)
		Expect(err).NotTo(HaveOccurred())
		Expect(located).To(Equal(plain))
		Expect(files).To(HaveLen(len(plain)), strings.Join(files, "\n"))
	},
		Entry("by a chart", traced("", chartFiles[:8]...)),
		Entry("by templates", traced(`{"color": "red"}`, "web.yaml", mapOf+"web}\ndata: {color: {{ .Values.color }}}\n")),
		Entry("by a kustomization", traced("", "kustomization.yaml", "resources: [web.yaml]\ncommonAnnotations: {a: b}\n",
			"web.yaml", mapOf+"web}\n")),
		Entry("by a kustomization without annotations",
			traced("", "kustomization.yaml", "resources: [web.yaml]\n", "web.yaml", mapOf+"web}\n")),
		Entry("by plain manifests", traced("", "kustomization.yaml", "resources: [web.yaml]\n", "web.yaml", mapOf+"web}\n")),
	)
})
