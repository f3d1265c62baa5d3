package conformance_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("The status of looked-up objects:", func() {
	var namespace, operator string
	var rendered *chart
	var start func() (stop func())
	BeforeEach(func(ctx SpecContext) {
		namespace, operator, rendered = newNamespace(ctx), newOperatorName(), &chart{}
		start = func() func() { return runOperator(operator, operatorOptions{generate: rendered}) }
	})
	copied := func(ctx context.Context) any { return content(ctx, "ConfigMap", namespace, "copy")["value"] }
	// addresses renders the assigned addresses of the Service, or an empty text.
	addresses := configMap("copy", `{{ with (lookup `+"`v1` `Service`"+` .Release.Namespace `+"`web`"+
		`).status }}{{ range .loadBalancer.ingress }}{{ .ip }}{{ end }}{{ end }}`)
	// balancer creates a Service of the type LoadBalancer. Only the function assign gives the Service an address.
	balancer := func(ctx context.Context) {
		create(ctx, "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: "+namespace+
			"}\nspec: {type: LoadBalancer, ports: [{port: 80}]}")
	}
	assign := func(ctx context.Context, ip string) {
		GinkgoHelper()
		web := mustGet(ctx, "v1", "Service", namespace, "web")
		web.Object["status"] = map[string]any{"loadBalancer": map[string]any{"ingress": []any{map[string]any{"ip": ip}}}}
		Expect(k8s.Status().Update(ctx, web)).To(Succeed())
	}

	It("a changed status of a looked-up object that the rendering does not read costs two renderings "+
		"and no write", func(ctx SpecContext) {
		start()
		balancer(ctx)
		g := newGadget(ctx, namespace, "app", configMap("copy", `{{ (lookup `+"`v1` `Service`"+` .Release.Namespace `+"`web`"+
			`).spec.type }}`), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		before, mark := rendered.renderings.Load(), markAudit(ctx)
		assign(ctx, "10.1.2.3")
		Eventually(ctx, rendered.renderings.Load).Should(Equal(before + 2))
		settle(ctx, operator)
		Expect(rendered.renderings.Load()).To(Equal(before + 2))
		Expect(current(ctx, g).Status.Lookups).To(HaveExactElements(Not(HaveSuffix(" s=true"))))
		Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), namespace).Writes())).To(BeEmpty())
	})

	It("a changed status of a looked-up object that the rendering reads leads to a new rendering", func(ctx SpecContext) {
		start()
		balancer(ctx)
		g := newGadget(ctx, namespace, "app", configMap("copy", `{{ range (lookup `+"`v1` `Service`"+` .Release.Namespace `+
			"`web`"+`).status.loadBalancer.ingress }}{{ .ip }}{{ end }}`),
			servedBy(operator))
		expectReady(ctx, g)
		assign(ctx, "10.1.2.3")
		Eventually(ctx, func() any { return copied(ctx) }).Should(Equal("10.1.2.3"))
	})

	It("a status field of a looked-up object that is set for the first time leads to a "+
		"new rendering", func(ctx SpecContext) {
		start()
		balancer(ctx)
		g := newGadget(ctx, namespace, "app", addresses, servedBy(operator))
		expectReady(ctx, g)
		Expect(copied(ctx)).To(Equal(""))
		for i, ip := range []string{"10.1.2.3", "10.1.2.4"} {
			assign(ctx, ip)
			Eventually(ctx, func() any { return copied(ctx) }).Should(Equal(ip))
			Eventually(ctx, func() int64 { return current(ctx, g).Status.Rendition }).Should(Equal(int64(i + 1)))
			expectReady(ctx, g)
		}
		Expect(current(ctx, g).Status.Revision).To(Equal(int64(1)))
	})

	DescribeTable("a status field of a looked-up object that is set while no operator runs leads to a new rendition "+
		"after the restart:",
		func(ctx SpecContext, besides string) {
			stop := start()
			balancer(ctx)
			g := newGadget(ctx, namespace, "app", addresses+besides, servedBy(operator))
			expectReady(ctx, g)
			settle(ctx, operator)
			stop()
			assign(ctx, "10.1.2.3")
			start()
			Eventually(ctx, func() any { return copied(ctx) }).Should(Equal("10.1.2.3"))
			expectReady(ctx, g)
			Eventually(ctx, func() int64 { return current(ctx, g).Status.Rendition }).Should(Equal(int64(1)))
			Expect(current(ctx, g).Status.Lookups).To(HaveExactElements(HaveSuffix(" s=true")))
		},
		Entry("with a deterministic rendering", ""),
		Entry("with generated values in the same rendering",
			"\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: random}\ndata: {password: {{ randAlphaNum 16 | b64enc }}}"),
	)

	It("the first status of a looked-up custom resource leads to a new rendering", func(ctx SpecContext) {
		group := newGroup()
		definition := create(ctx, widgetDefinition(group))
		DeferCleanup(func(ctx SpecContext) { _ = k8s.Delete(ctx, definition[0]) })
		Eventually(ctx, func() error {
			_, err := get(ctx, group+"/v1", "Widget", namespace, "none")
			return client.IgnoreNotFound(err)
		}).Should(Succeed())
		create(ctx, strings.Replace(widget(group, "w"), "{name:", "{namespace: "+namespace+", name:", 1))
		start()
		g := newGadget(ctx, namespace, "app",
			configMap("copy", `{{ with (lookup `+"`"+group+"/v1` `Widget`"+` .Release.Namespace `+"`w`"+
				`).status }}{{ .phase }}{{ end }}`),
			servedBy(operator))
		expectReady(ctx, g)
		Expect(copied(ctx)).To(Equal(""))
		w := mustGet(ctx, group+"/v1", "Widget", namespace, "w")
		w.Object["status"] = map[string]any{"phase": "done"}
		Expect(k8s.Status().Update(ctx, w)).To(Succeed())
		Eventually(ctx, func() any { return copied(ctx) }).Should(Equal("done"))
	})
})
