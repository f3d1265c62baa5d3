package conformance_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

var _ = Describe("Refused Secrets:", func() {
	It("if the API server refuses a Secret, the condition names the Secret and does not contain its content", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\nimmutable: aHVudGVyMg")
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(ContainSubstring("Secret "+namespace+"/login"), ContainSubstring("withheld")))
		Expect(fmt.Sprint(current(ctx, g).Status)).NotTo(ContainSubstring("aHVudGVyMg"))
	})
})
