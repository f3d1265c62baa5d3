package cli_test

import (
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

var _ = Describe("the manifest of a component", onCluster(func() {
	const template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n" +
		"data: {size: {{ .Values.size | quote }}, zone: {{ .Values.zone | quote }}}\n"
	manifest := func(spec string) string {
		return filepath.Join(folder("shop.yaml", "apiVersion: fairlead.io/v1alpha1\nkind: Component\n"+
			"metadata: {name: shop, labels: {team: blue}, annotations: {note: a}}\nspec: "+spec), "shop.yaml")
	}

	It("is applied with a folder as its source, and replaces the spec of an existing component", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		dir := folder("a.yaml", template)
		file := manifest("{interval: 1h, timeout: 5m, values: {size: 1, zone: a}}")
		r := fairlead(ctx, namespace, "apply", "-f", file, dir, "--set", "zone=b")
		Expect(r.Err).To(BeEmpty())
		c := shopIn(ctx, namespace)
		Expect(c.Labels).To(HaveKeyWithValue("team", "blue"))
		Expect(c.Annotations).To(HaveKeyWithValue("note", "a"))
		Expect(c.Spec.Source.ConfigMap).NotTo(BeNil())
		Expect(c.Spec.Interval.Duration.String()).To(Equal("1h0m0s"))
		Expect(valuesOf(c)).To(MatchJSON(`{"size": 1, "zone": "b"}`))

		r = fairlead(ctx, namespace, "apply", "-f", manifest("{timeout: 6m, values: {size: 2, zone: a}}"), "shop", dir)
		Expect(r.Err).To(BeEmpty())
		c = shopIn(ctx, namespace)
		Expect(c.Spec.Interval).To(BeNil())
		Expect(c.Spec.TimeoutDuration.Duration.String()).To(Equal("6m0s"))
		Expect(valuesOf(c)).To(MatchJSON(`{"size": 2, "zone": "a"}`))
		Expect(fairlead(ctx, namespace, "apply", "-f", manifest("{timeout: 6m, values: {size: 2, zone: a}}"), dir).Out).
			To(Equal("component.fairlead.io/shop unchanged\n"))
	})

	It("is planned and compared although the component does not exist, and nothing is written", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		file := manifest("{source: {inline: {files: {a.yaml: '{apiVersion: v1, kind: ConfigMap, metadata: {name: " +
			"settings}}'}}}}")
		r := fairlead(ctx, namespace, "plan", "-f", file)
		Expect(r.Err).To(BeEmpty())
		Expect(r.Out).To(ContainSubstring("settings"))
		Expect(r.Code).To(Equal(0))
		r = fairlead(ctx, namespace, "diff", "-f", manifest("{values: {size: 1, zone: a}}"), folder("a.yaml", template))
		Expect(r.Out).To(ContainSubstring("+  zone: a"))
		Expect(r.Code).To(Equal(1))
		r = fairlead(ctx, namespace, "apply", "--dry-run", "-f", manifest("{values: {size: 1, zone: a}}"),
			folder("a.yaml", template))
		Expect(r.Out).To(ContainSubstring("settings"))
		Expect(apierrors.IsNotFound(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "shop"},
			&v1alpha1.Component{}))).
			To(BeTrue())
		Expect(requests(ctx, namespace, "components", "configmaps").Writes()).To(BeEmpty())
	})

	It("is refused with the names of all unknown fields, because the API server would drop them", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		file := manifest("{serviceAccount: {name: deployer}, policies: {delet: orphan}, values: {any: {thing: 1}}}")
		for _, command := range []string{"apply", "plan", "diff"} {
			r := fairlead(ctx, namespace, command, "-f", file, folder("a.yaml", template))
			Expect(r.Code).To(Equal(2), command)
			Expect(r.Err).To(And(ContainSubstring(`unknown field "spec.serviceAccount"`),
				ContainSubstring(`unknown field "spec.policies`)), command)
		}
		Expect(requests(ctx, namespace, "components", "configmaps").Writes()).To(BeEmpty())
	})

	It("has the name and the namespace of the component", func(ctx SpecContext) {
		file := filepath.Join(folder("shop.yaml", "apiVersion: fairlead.io/v1alpha1\nkind: Component\n"+
			"metadata: {name: shop, namespace: elsewhere}\n"), "shop.yaml")
		r := fairlead(ctx, "default", "apply", "-f", file, folder("a.yaml", template))
		Expect(r.Code).To(Equal(2))
		Expect(r.Err).To(ContainSubstring(`the manifest has the namespace "elsewhere", and the flag --namespace "default"`))
		r = fairlead(ctx, "elsewhere", "apply", "-f", file, "other", folder("a.yaml", template))
		Expect(r.Code).To(Equal(2))
		Expect(r.Err).To(ContainSubstring(`the manifest has the name "shop", and the argument is "other"`))
	})

	It("is applied in a namespace that --create-namespace creates", func(ctx SpecContext) {
		namespace := newNamespace(ctx) + "-new"
		dir := folder("a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}")
		r := fairlead(ctx, namespace, "apply", "shop", dir, "--create-namespace")
		Expect(r.Err).To(BeEmpty())
		Expect(r.Out).To(HavePrefix("namespace/" + namespace + " created\n"))
		Expect(k8s.Get(ctx, client.ObjectKey{Name: namespace}, &corev1.Namespace{})).To(Succeed())
		Expect(fairlead(ctx, namespace, "apply", "shop", dir, "--create-namespace").Out).
			To(Equal("component.fairlead.io/shop unchanged\n"))
		Expect(fairlead(ctx, namespace, "apply", "shop", dir, "--dry-run", "--wait").Code).To(Equal(2))
	})
}))
