package conformance_test

import (
	"context"
	"testing/fstest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/helm"
	"github.com/fairlead-io/fairlead/pkg/generator/kustomize"
)

var _ = Describe("Values that flow between objects of a chart:", func() {
	It("patches alone bind the objects of a chart, and a new value changes no value that the chart "+
		"rendered at random", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		chart, err := helm.New(fstest.MapFS{
			"Chart.yaml": {Data: []byte("apiVersion: v2\nname: shop\nversion: 1.0.0\n")},
			"templates/service.yaml": {Data: []byte("apiVersion: v1\nkind: Service\nmetadata: {name: db}\n" +
				"spec: {type: LoadBalancer, allocateLoadBalancerNodePorts: false, ports: [{port: 80}]}\n")},
			"templates/web.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n" +
				"data: {token: {{ randAlphaNum 16 | quote }}, host: localhost}\n")},
		}, helm.Options{AnnotationPrefix: operator})
		Expect(err).NotTo(HaveOccurred())
		patches, err := kustomize.NewTransformer(kustomize.Changes{Patches: []kustomize.Patch{
			{Patch: "apiVersion: v1\nkind: Service\nmetadata:\n  name: db\n  annotations: {" +
				settingOf(operator, "export", "dbHost=self.status.loadBalancer.ingress[0].ip") + "}\n"},
			{Patch: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\n  annotations: {" + settingOf(operator, "bind",
				"true") + "}\ndata: {host: '${{ dbHost }}'}\n"},
		}})
		Expect(err).NotTo(HaveOccurred())
		stop := runOperator(operator, operatorOptions{generate: generator.Chain(chart, patches)})
		g := newGadget(ctx, namespace, "app", "unused", servedBy(operator))
		expectCondition(ctx, g, metav1alpha1.ConditionReady,
			And(HavePrefix("False"), ContainSubstring("export dbHost of Service "+namespace+"/db")))
		assignAddress(ctx, namespace, "10.0.0.1")
		expectReady(ctx, g)
		data := func(ctx context.Context) map[string]any {
			GinkgoHelper()
			found, _ := mustGet(ctx, "v1", "ConfigMap", namespace, "web").Object["data"].(map[string]any)
			return found
		}
		before := data(ctx)
		Expect(before).To(HaveKeyWithValue("host", "10.0.0.1"))
		stop()
		assignAddress(ctx, namespace, "10.0.0.2")
		runOperator(operator, operatorOptions{generate: generator.Chain(chart, patches)})
		Eventually(ctx, func() map[string]any { return data(ctx) }).
			Should(Equal(map[string]any{"host": "10.0.0.2", "token": before["token"]}))
		expectReady(ctx, g)
		Expect(current(ctx, g).Status.Revision).To(Equal(int64(1)))
	})
})
