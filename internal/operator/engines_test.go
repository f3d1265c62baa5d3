package operator

import (
	"context"
	"fmt"
	"testing/fstest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

var _ = Describe("The engines", func() {
	var subject generator.Generator
	BeforeEach(func() { subject = must(NewGenerator(RenderOptions{})) })

	render := func(spec v1alpha1.ComponentSpec, references generator.References) ([]string, error) {
		spec.Values = &runtime.RawExtension{Raw: []byte(`{"size":10000000,"name":"web"}`)}
		objects, err := subject.Generate(context.Background(), generator.Request{
			Namespace: "prod", Name: "shop", Component: newComponent(spec), References: references, Revision: 1,
			Capabilities: generator.Capabilities{Version: version.Info{Major: "1", Minor: "36", GitVersion: "v1.36.3"}},
		})
		var texts []string
		for _, object := range objects {
			manifest, ok := object.(*unstructured.Unstructured)
			Expect(ok).To(BeTrue())
			texts = append(texts, fmt.Sprintf("%s %s %v", manifest.GetKind(), manifest.GetName(), manifest.Object["data"]))
		}
		return texts, err
	}

	overlays := fstest.MapFS{
		"base/kustomization.yaml": {Data: []byte("resources: [a.yaml]\n")},
		"base/a.yaml": {Data: []byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: " +
			"a}, data: {from: base}}\n")},
		"overlays/prod/kustomization.yaml": {Data: []byte("resources: [../../base]\nnamePrefix: prod-\n")},
		"overlays/lost/kustomization.yaml": {Data: []byte("resources: [../../basis]\n")},
		"overlays/out/kustomization.yaml":  {Data: []byte("resources: [../../../base]\n")},
		"overlays/dev/kustomization.yaml.tmpl": {Data: []byte("resources: [../../base, b.yaml]\nnamePrefix: {{ " +
			"include \"prefix\" . }}-\n")},
		"overlays/dev/b.yaml.tmpl": {Data: []byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: " +
			"b}, data: {from: '{{ readFile \"../../lib/version\" }}'}}\n")},
		"overlays/dev/.fairlead-kustomize.yaml":       {Data: []byte("suffix: .tmpl\ninclude: [../../lib]\n")},
		"overlays/untouched/.fairlead-kustomize.yaml": {Data: []byte("suffx: broken\n")},
		"lib/_names.tpl":     {Data: []byte("{{ define \"prefix\" }}{{ .Values.name }}-dev{{ end }}")},
		"lib/version":        {Data: []byte("1.2")},
		"kustomization.yaml": {Data: []byte("resources: [overlays/prod]\nnameSuffix: -top\n")},
	}
	archive := func() generator.References {
		return generator.References{configMap("src"): data("a.tgz", pack(overlays))}
	}
	const template = "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Release.Name }}-{{ .Values.name }}'}, " +
		"data: {size: '{{ .Values.size | int }}'}}"

	It("leave out the definitions of a chart with skipCRDs, and refuse skipCRDs for other sources", func() {
		definition := "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: " +
			"gadgets.example.com}}"
		chart := inline(map[string]string{
			"Chart.yaml":  "{apiVersion: v2, name: shop, version: 1.0.0}",
			"crds/a.yaml": definition, "templates/a.yaml": template,
		})
		Expect(render(v1alpha1.ComponentSpec{Source: chart, Helm: &v1alpha1.HelmOptions{}}, nil)).To(HaveLen(2))
		Expect(render(v1alpha1.ComponentSpec{Source: chart, Helm: &v1alpha1.HelmOptions{SkipCRDs: true}}, nil)).
			To(Equal([]string{"ConfigMap shop-web map[size:10000000]"}))
		_, err := render(v1alpha1.ComponentSpec{
			Source: inline(map[string]string{"a.yaml": template}),
			Helm:   &v1alpha1.HelmOptions{SkipCRDs: true},
		}, nil)
		Expect(err).To(MatchError("spec.helm is for charts, but the source is rendered by GoTemplate: remove spec.helm, or " +
			"set spec.path to the folder of a chart"))
	})

	It("read the resource groups of a chart as dependencies with sequencing, and only then", func() {
		chart := inline(map[string]string{
			"Chart.yaml": "{apiVersion: v2, name: shop, version: 1.0.0}",
			"templates/db.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: db, annotations: " +
				"{helm.sh/resource-group: " +
				"database}}}",
			"templates/web.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: web, annotations: {" +
				`helm.sh/depends-on/resource-groups: '["database"]'}}}`,
		})
		settingsWith := func(o RenderOptions, options *v1alpha1.HelmOptions) map[string]string {
			g := must(NewGenerator(o))
			objects, err := g.Generate(context.Background(), generator.Request{
				Revision: 1, Component: newComponent(v1alpha1.ComponentSpec{Source: chart, Helm: options}),
			})
			Expect(err).NotTo(HaveOccurred())
			found := map[string]string{}
			for _, o := range objects {
				for _, name := range []string{"depends-on", "depends-on-group"} {
					if value, set := o.GetAnnotations()[ReconcilerName+"/"+name]; set {
						found[o.GetName()] = name + " " + value
					}
				}
			}
			return found
		}
		sequenced := Equal(map[string]string{"db": "depends-on-group database", "web": "depends-on @database?"})
		Expect(settingsWith(RenderOptions{}, nil)).To(BeEmpty())
		Expect(settingsWith(RenderOptions{}, &v1alpha1.HelmOptions{SkipCRDs: true})).To(BeEmpty())
		Expect(settingsWith(RenderOptions{}, &v1alpha1.HelmOptions{Sequencing: true})).To(sequenced)
		Expect(settingsWith(RenderOptions{Sequencing: true}, nil)).To(sequenced)
		Expect(settingsWith(RenderOptions{Sequencing: true}, &v1alpha1.HelmOptions{})).To(sequenced)
	})

	It("give the hooks of a chart the timeout hookTimeout, and refuse a negative one", func() {
		hook := "{apiVersion: batch/v1, kind: Job, metadata: {name: hook, annotations: {helm.sh/hook: post-install}}}"
		timeoutWith := func(options *v1alpha1.HelmOptions) (string, error) {
			objects, err := subject.Generate(context.Background(),
				generator.Request{Revision: 1, Component: newComponent(v1alpha1.ComponentSpec{
					Source: inline(map[string]string{
						"Chart.yaml":       "{apiVersion: v2, name: shop, version: 1.0.0}",
						"templates/a.yaml": hook,
					}),
					Helm: options,
				})})
			if err != nil {
				return "", err
			}
			return objects[0].GetAnnotations()[ReconcilerName+"/timeout"], nil
		}
		Expect(timeoutWith(nil)).To(BeEmpty())
		Expect(timeoutWith(&v1alpha1.HelmOptions{})).To(BeEmpty())
		Expect(timeoutWith(&v1alpha1.HelmOptions{HookTimeout: &metav1.Duration{Duration: 5 * time.Minute}})).To(Equal("5m0s"))
		_, err := timeoutWith(&v1alpha1.HelmOptions{HookTimeout: &metav1.Duration{Duration: -time.Minute}})
		Expect(err).To(MatchError(ContainSubstring("spec.helm.hookTimeout: the timeout of hooks is -1m0s")))
	})

	It("render a chart with the values and the release name of the component", func() {
		Expect(render(v1alpha1.ComponentSpec{Source: inline(map[string]string{
			"Chart.yaml": "{apiVersion: v2, name: shop, version: 1.0.0}", "templates/a.yaml": template,
		})}, nil)).To(Equal([]string{"ConfigMap shop-web map[size:10000000]"}))
	})

	It("render whole numbers in templates as integers", func() {
		Expect(render(v1alpha1.ComponentSpec{Source: inline(map[string]string{
			"a.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Values.name }}'}, data: {size: '{{ " +
				".Values.size }}'}}",
		})}, nil)).To(Equal([]string{"ConfigMap web map[size:10000000]"}))
	})

	DescribeTable("build the kustomization in spec.path, with files next to it:",
		func(path string, want ...string) {
			Expect(render(v1alpha1.ComponentSpec{Source: fromConfigMap(), Path: path}, archive())).To(Equal(want))
		},
		Entry("an overlay with a base in another folder", "overlays/prod", "ConfigMap prod-a map[from:base]"),
		Entry("templates, with helpers and files in other folders", "overlays/dev", "ConfigMap web-dev-a map[from:base]",
			"ConfigMap web-dev-b map[from:1.2]"),
		Entry("a base without references", "./base/", "ConfigMap a map[from:base]"),
		Entry("the root", "", "ConfigMap prod-a-top map[from:base]"),
	)

	DescribeTable("name the file with the error:",
		func(spec v1alpha1.ComponentSpec, references func() generator.References, want string) {
			_, err := render(spec, references())
			Expect(err).To(MatchError(ContainSubstring(want)))
		},
		Entry("a missing base", v1alpha1.ComponentSpec{Source: fromConfigMap(), Path: "overlays/lost"}, archive,
			`overlays/lost/kustomization.yaml: resources: "../../basis" does not exist in the source`),
		Entry("a base outside the source", v1alpha1.ComponentSpec{Source: fromConfigMap(), Path: "overlays/out"}, archive,
			`resources: "../../../base" leaves the source`),
	)
})
