package cli_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var _ = Describe("notes", onCluster(func() {
	const chart = "apiVersion: v2\nname: shop\nversion: 1.0.0\n"

	It("are rendered with the component's values, revision and target", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		settings := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "settings"},
			Data:       map[string]string{"host": "shop.example.com"},
		}
		Expect(k8s.Create(ctx, settings)).To(Succeed())
		dir := folder("Chart.yaml", chart, "values.yaml", "scheme: http", "templates/NOTES.txt", `
{{- $settings := lookup "v1" "ConfigMap" .Release.Namespace "settings" }}
{{ .Release.Name }} is at {{ .Values.scheme }}://{{ $settings.data.host }}, {{ if .Release.IsInstall }}and is new{{ end }}{{ .Release.Revision }}.
{{ if .Capabilities.APIVersions.Has "fairlead.io/v1alpha1/Component" }}Components are served.{{ end }}
`)
		const said = "store is at https://shop.example.com, and is new1.\nComponents are served.\n"
		r := fairlead(ctx, namespace, "apply", "shop", dir, "--set", "scheme=https", "--target-name", "store")
		Expect(r.Err).To(BeEmpty())
		Expect(r.Out).To(HaveSuffix("component.fairlead.io/shop created\n" + said))
		Expect(fairlead(ctx, namespace, "notes", "shop")).To(Equal(result{Out: said}))

		c := shopIn(ctx, namespace)
		c.Status.Revision, c.Status.ObservedGeneration = 4, c.Generation
		Expect(k8s.Status().Update(ctx, c)).To(Succeed())
		Expect(fairlead(ctx, namespace, "notes", "shop").Out).To(ContainSubstring(", 4."))
	})

	It("are those of the plan of an apply, unless another rendering may differ", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		reads := func() int { return len(requests(ctx, namespace, "configmaps").Verb("get")) }
		const said = "{{ .Release.Name }}, revision {{ .Release.Revision }}\n"
		const object = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {b: '%s'}}"
		r := fairlead(ctx, namespace, "apply", "plain",
			folder("Chart.yaml", chart, "templates/NOTES.txt", said, "templates/a.yaml", fmt.Sprintf(object, "c")))
		Expect(r.Out).To(HaveSuffix("component.fairlead.io/plain created\nplain, revision 1\n"))
		plain := reads()
		r = fairlead(ctx, namespace, "apply", "random", folder("Chart.yaml", chart, "templates/NOTES.txt", said,
			"templates/a.yaml", fmt.Sprintf(object, "{{ randAlpha 5 }}")))
		Expect(r.Out).To(HaveSuffix("component.fairlead.io/random created\nrandom, revision 1\n"))
		Expect(reads()-plain).To(Equal(plain+1), "the source is read for another rendering")
	})

	It("are empty for a component without notes", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		Expect(fairlead(ctx, namespace, "apply", "shop", folder("web.yaml", "")).Code).To(Equal(0))
		Expect(fairlead(ctx, namespace, "notes", "shop")).To(Equal(result{}))
	})

	It("report why they cannot be rendered, but do not fail an apply", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		dir := folder("Chart.yaml", chart, "templates/NOTES.txt", `{{ required "say who" .Values.who }}`)
		r := fairlead(ctx, namespace, "apply", "shop", dir, "--skip-plan")
		Expect(r.Err).To(BeEmpty())
		Expect(r.Code).To(Equal(0))
		r = fairlead(ctx, namespace, "notes", "shop")
		Expect(r.Code).To(Equal(1))
		Expect(r.Err).To(ContainSubstring("say who"))
		Expect(fairlead(ctx, namespace, "notes", "none").Err).To(ContainSubstring("does not exist"))
	})
}))
