package conformance_test

import (
	"slices"
	"strings"
	"testing/fstest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator/kustomize"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// mountingKustomization returns a kustomization with a ConfigMap, whose name contains a hash of its content, and with a
// Deployment that mounts the ConfigMap. The value "manifests" of the test component consists of two lines: the content
// of the ConfigMap, and the node selector of the Deployment.
func mountingKustomization() fstest.MapFS {
	return fstest.MapFS{
		kustomize.ConfigFile: {},
		"kustomization.yaml": {Data: []byte(`
resources: [web.yaml]
configMapGenerator:
- name: settings
  literals: ['level={{ splitList "\n" .Values.manifests | first }}']
`)},
		"web.yaml": {Data: []byte(deployment("web") + `
      volumes: [{name: settings, configMap: {name: settings}}]
      nodeSelector: { {{- splitList "\n" .Values.manifests | rest | join "" -}} }
`)},
	}
}

var _ = Describe("ConfigMaps with a hash in their name:", func() {
	It("a ConfigMap with a hash in its name is pruned only after the workloads that use its successor "+
		"have rolled out", func(ctx SpecContext) {
		engine, err := kustomize.New(mountingKustomization(), kustomize.Options{})
		Expect(err).NotTo(HaveOccurred())
		const operator = "kustomize.test.fairlead.io"
		runOperator(operator, operatorOptions{generate: engine})
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", "info", func(g *gadget.Gadget) { g.Labels[operatorLabel] = operator })
		expectReady(ctx, g)
		settings := func() []string {
			GinkgoHelper()
			list := &corev1.ConfigMapList{}
			Expect(k8s.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
			var names []string
			for _, item := range list.Items {
				if strings.HasPrefix(item.Name, "settings-") {
					names = append(names, item.Name)
				}
			}
			return names
		}
		old := settings()
		Expect(old).To(HaveLen(1))

		mark := markAudit(ctx)
		changeManifests(ctx, g, "debug\nno: where")
		expectCondition(ctx, g, metav1alpha1.ConditionReconciling, ContainSubstring("/web"))
		settle(ctx, operator)
		Expect(settings()).To(And(HaveLen(2), ContainElement(old[0])),
			"the old ConfigMap must exist, because pods of the old revision mount it")

		changeManifests(ctx, g, "debug")
		expectReady(ctx, g)
		Expect(settings()).To(And(HaveLen(1), Not(ContainElement(old[0]))))
		writes := inNamespace(requestsSince(ctx, mark, operator), namespace).Writes().Resource("configmaps", "deployments")
		Expect(slices.IndexFunc(writes, func(e testcluster.Event) bool { return e.Verb == "delete" })).
			To(Equal(len(writes)-1), "%v", verbs(writes))
	})
})
