package cli_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

var _ = Describe("diff", onCluster(func() {
	It("shows the changes of an apply, and no value of a Secret", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		dir := folder(shopTemplates()...)
		r := fairlead(ctx, namespace, "diff", "shop", dir)
		Expect(r.Err).To(BeEmpty())
		Expect(r.Code).To(Equal(1))
		expectGolden("diff/new.diff", namespace, r.Out)

		applied(ctx, namespace, dir)
		Expect(fairlead(ctx, namespace, "diff", "shop", dir)).To(Equal(result{}))
		Expect(fairlead(ctx, namespace, "diff", "shop")).To(Equal(result{}))
		r = fairlead(ctx, namespace, "diff", "shop", dir, "--set", "color=blue,extra=false")
		Expect(r.Code).To(Equal(1))
		expectGolden("diff/changes.diff", namespace, r.Out)
	})

	It("shows later changes by another client, and with --last-applied none of them", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		stop := operate(namespace)
		dir := folder(shopTemplates()...)
		applied(ctx, namespace, dir)
		stop()
		settings := &corev1.ConfigMap{}
		Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "settings"}, settings)).To(Succeed())
		Expect(k8s.Patch(ctx, settings, client.RawPatch(types.MergePatchType,
			[]byte(`{"data": {"color": "green", "theirs": "too"}}`)))).To(Succeed())

		r := fairlead(ctx, namespace, "diff", "shop")
		Expect(r.Err).To(BeEmpty())
		Expect(r.Code).To(Equal(1))
		expectGolden("diff/drift.diff", namespace, r.Out)
		r = fairlead(ctx, namespace, "diff", "shop", dir, "--set", "color=blue", "--last-applied")
		Expect(r.Code).To(Equal(1))
		expectGolden("diff/last-applied.diff", namespace, r.Out)
	})

	It("shows no change of a field that the spec of the component ignores, and why and tree "+
		"name the rule", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		stop := operate(namespace)
		applied(ctx, namespace, folder(shopTemplates()...))
		c := shopIn(ctx, namespace)
		base := client.MergeFrom(c.DeepCopy())
		c.Spec.Ignore = []metav1alpha1.IgnoreRule{{
			Target: &metav1alpha1.ObjectTarget{Kind: "ConfigMap", Name: "settings"}, Paths: []string{"data.color"},
		}}
		Expect(k8s.Patch(ctx, c, base)).To(Succeed())
		why := func() string { return fairlead(ctx, namespace, "why", "cm/settings", "--field", "data.color").Out }
		Eventually(ctx, why).Should(MatchRegexp(`ignored +by data.color in the spec of the component\n`))
		stop()

		settings := &corev1.ConfigMap{}
		Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "settings"}, settings)).To(Succeed())
		Expect(k8s.Patch(ctx, settings, client.RawPatch(types.MergePatchType, []byte(`{"data": {"color": "green"}}`)))).
			To(Succeed())
		r := fairlead(ctx, namespace, "diff", "shop")
		Expect(r).To(And(HaveField("Code", 0), HaveField("Out", Not(ContainSubstring("green")))))
		Expect(r.Err + r.Out).To(ContainSubstring("data.color is ignored, by the spec of the component"))

		Expect(k8s.Patch(ctx, settings, client.RawPatch(types.MergePatchType,
			[]byte(`{"metadata": {"annotations": {"fairlead.io/ignore": "data.size"}}}`)))).To(Succeed())
		Expect(fairlead(ctx, namespace, "tree", "shop").Out).To(And(
			HaveSuffix("\n\nConfigMap "+namespace+"/settings: data.color is ignored, by the spec of the component\n"),
			Not(ContainSubstring("data.size"))), "a rule of another client has no effect")
	})

	It("has exit code 1 only for a difference", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		r := fairlead(ctx, namespace, "diff", "shop")
		Expect(r.Code).To(Equal(2))
		Expect(r.Err).To(ContainSubstring("does not exist"))
		Expect(fairlead(ctx, namespace, "diff", "shop", folder("broken.yaml", "kind: {{ nope }}")).Code).To(Equal(2))
	})
}))
