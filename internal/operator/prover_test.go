package operator

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

const (
	plainMap  = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: '{{ .Values.a }}'}}"
	randomMap = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: '{{ randAlpha 3 }}'}}"
	chartFile = "{apiVersion: v2, name: web, version: 1.0.0}"
)

var _ = DescribeTable("A rendering is proven",
	func(ctx context.Context, spec v1alpha1.ComponentSpec, want bool) {
		g := must(NewGenerator(RenderOptions{}))
		namespaces := fake.NewClientBuilder().
			WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "apps"}}).Build()
		for _, subject := range []generator.Generator{
			g,
			staying{Generator: g, self: self{reader: answers{}}},
			limited{Generator: g, quotas: quotas{namespaces: namespaces}},
		} {
			objects, proven, err := generator.Prove(ctx, subject, generator.Request{Component: newComponent(spec)})
			Expect(err).NotTo(HaveOccurred())
			Expect(objects).To(HaveLen(1))
			Expect(proven).To(Equal(want), "%T", subject)
		}
	},
	Entry("of a chart", v1alpha1.ComponentSpec{
		Source: inline(map[string]string{"Chart.yaml": chartFile, "templates/a.yaml": plainMap}),
	}, true),
	Entry("of a chart with options", v1alpha1.ComponentSpec{
		Source: inline(map[string]string{"Chart.yaml": chartFile, "templates/a.yaml": plainMap}),
		Helm:   &v1alpha1.HelmOptions{SkipCRDs: true},
	}, true),
	Entry("of templates", v1alpha1.ComponentSpec{
		Source: inline(map[string]string{"a.yaml": plainMap}), Values: &runtime.RawExtension{Raw: []byte(`{"a":"b"}`)},
	}, true),
	Entry("but not of a chart with random values", v1alpha1.ComponentSpec{
		Source: inline(map[string]string{"Chart.yaml": chartFile, "templates/a.yaml": randomMap}),
	}, false),
	Entry("but not of templates with random values", v1alpha1.ComponentSpec{
		Source: inline(map[string]string{"a.yaml": randomMap}),
	}, false),
	Entry("but not of a kustomization", v1alpha1.ComponentSpec{
		Source: inline(map[string]string{"kustomization.yaml": "resources: [a.yaml]", "a.yaml": plainMap}),
	}, false),
	Entry("but not with post-renderers", v1alpha1.ComponentSpec{
		Source: inline(map[string]string{"Chart.yaml": chartFile, "templates/a.yaml": plainMap}),
		PostRenderers: []v1alpha1.PostRenderer{{Kustomize: &v1alpha1.KustomizePostRenderer{
			CommonMetadata: &v1alpha1.CommonMetadata{Labels: map[string]string{"a": "b"}},
		}}},
	}, false),
)
