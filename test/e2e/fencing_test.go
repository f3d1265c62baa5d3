package e2e_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("Two processes of one operator without leader election:", func() {
	It("two concurrent processes of the same operator create no object twice, lose no object, and record the "+
		"live dependents", func(ctx SpecContext) {
		component := newComponent(newNamespace(ctx), "crowd", crowd, `{"first": 0, "version": "one"}`)
		startOperator(identity.Kubeconfig, "--max-concurrent-writes=2")
		startOperator(identity.Kubeconfig, "--max-concurrent-writes=2")
		before := audit(ctx)
		Expect(admin.Create(ctx, component)).To(Succeed())
		Eventually(ctx, componentCondition(ctx, component)).Should(HavePrefix("True Ready"))
		Eventually(ctx, recorded(ctx, component)).Should(Equal(dependents(ctx, component)))
		Expect(written(ctx, before)).To(Equal(map[string]writes{"patch 201": {requests: 200, objects: 200}}))

		before = audit(ctx)
		Eventually(ctx, func() error {
			if err := admin.Get(ctx, client.ObjectKeyFromObject(component), component); err != nil {
				return err
			}
			component.Spec.Values = &runtime.RawExtension{Raw: []byte(`{"first": 20, "version": "two"}`)}
			return admin.Update(ctx, component)
		}).Should(Succeed())
		Eventually(ctx, componentCondition(ctx, component)).Should(HavePrefix("True Ready"))
		Eventually(ctx, recorded(ctx, component)).Should(Equal(dependents(ctx, component)))
		upgrade := written(ctx, before)
		Expect(upgrade["patch 201"]).To(Equal(writes{requests: 20, objects: 20}))
		Expect(upgrade["delete 200"]).To(Equal(writes{requests: 20, objects: 20}))
		Expect(upgrade["patch 200"].objects).To(Equal(180),
			"both processes may send the same manifest, and the second apply changes nothing")

		Expect(admin.Delete(ctx, component)).To(Succeed())
		Eventually(ctx, exists(ctx, component)).Should(BeFalse())
		Expect(dependents(ctx, component)).To(BeEmpty())
	}, SpecTimeout(2*time.Minute))
})
