//go:build long

package conformance_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("Large components:", func() {
	It("a component with 5,000 dependents is applied, changed and deleted with one request for "+
		"each dependent", func(ctx SpecContext) {
		const n = 5000
		namespace := newNamespace(ctx)
		mark := markAudit(ctx)
		g := newGadget(ctx, namespace, "app", configMaps("cm", n, "a"))
		within := func() AsyncAssertion {
			return Eventually(ctx, func() string { return condition(current(ctx, g), "Ready") }).
				WithTimeout(2 * time.Minute).WithPolling(500 * time.Millisecond)
		}
		within().Should(HavePrefix("True Ready"))
		Expect(len(inNamespace(requestsSince(ctx, mark, operatorName), namespace))).To(BeNumerically("<=", n+4))

		mark = markAudit(ctx)
		changeManifests(ctx, g, configMaps("cm", n, "b"))
		within().Should(HavePrefix("True Ready"))
		Expect(len(inNamespace(requestsSince(ctx, mark, operatorName), namespace))).To(BeNumerically("<=", n+3))

		mark = markAudit(ctx)
		Expect(k8s.Delete(ctx, g)).To(Succeed())
		Eventually(ctx, func() error { return k8s.Get(ctx, client.ObjectKeyFromObject(g), g) }).WithTimeout(2 * time.Minute).
			ShouldNot(Succeed())
		Expect(len(inNamespace(requestsSince(ctx, mark, operatorName), namespace))).To(BeNumerically("<=", n+4))
	})
})
