//go:build programs

package conformance_test

import (
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

var _ = Describe("Objects of Helm releases:", func() {
	It("an object that an uninstalled release kept is named as that, is taken over if the component lists it, and is "+
		"deleted with the component", func(ctx SpecContext) {
		namespace, chart := newNamespace(ctx), GinkgoT().TempDir()
		for name, text := range map[string]string{
			"Chart.yaml": "{apiVersion: v2, name: keeping, version: 1.0.0}",
			"templates/all.yaml": "apiVersion: v1\nkind: ConfigMap\n" +
				"metadata: {name: settings, annotations: {helm.sh/resource-policy: keep}}\ndata: {value: theirs, foreign: x}\n" +
				"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n",
		} {
			path := filepath.Join(chart, name)
			Expect(os.MkdirAll(filepath.Dir(path), 0o755)).To(Succeed())
			Expect(os.WriteFile(path, []byte(text), 0o600)).To(Succeed())
		}
		for _, command := range []string{"install", "uninstall"} {
			output, err := tryHelm(ctx, chart, namespace, command)
			Expect(err).NotTo(HaveOccurred(), output)
		}
		Expect(configMapExists(ctx, namespace, "other")).To(BeFalse())
		orphan := mustGet(ctx, "v1", "ConfigMap", namespace, "settings")

		g := newGadget(ctx, namespace, "app", together(configMap("settings", "ours"), configMap("other", "ours")))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(
			HavePrefix("True OwnershipConflict"),
			ContainSubstring("it belongs to the Helm release "+namespace+
				"/demo (which keeps it when it is uninstalled, so the release may not exist any more)"),
			ContainSubstring("add {kind: ConfigMap, namespace: "+namespace+", name: settings} to spec.adopt")))
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "settings").GetResourceVersion()).
			To(Equal(orphan.GetResourceVersion()))

		change(ctx, g, adopting(metav1alpha1.AdoptRule{Kind: "ConfigMap", Name: "settings"}))
		expectReady(ctx, g)
		adopted := mustGet(ctx, "v1", "ConfigMap", namespace, "settings")
		Expect(adopted.GetUID()).To(Equal(orphan.GetUID()))
		Expect(adopted.Object["data"]).To(Equal(map[string]any{"value": "ours"}))
		Expect(adopted.GetAnnotations()).NotTo(HaveKey(HavePrefix("meta.helm.sh/")))
		Expect(current(ctx, g).Status.History[0].Adopted).To(ConsistOf(
			HavePrefix("ConfigMap " + namespace + "/settings from the Helm release " + namespace + "/demo")))

		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(configMapExists(ctx, namespace, "settings")).To(BeFalse())
	})
})
