package conformance_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/aggregate"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// newAPIService returns an APIService by name.
func newAPIService(name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"})
	o.SetName(name)
	return o
}

var _ = Describe("An aggregated API that a component brings", func() {
	var namespace, elsewhere string
	var server *aggregate.Server
	var g *gadget.Gadget
	var mark auditMark

	BeforeEach(func(ctx SpecContext) {
		namespace, elsewhere = newNamespace(ctx), newNamespace(ctx)
		server = aggregate.Start(newGroup())
		DeferCleanup(server.Close)
		g = newGadget(ctx, namespace, "app", together(
			server.Service(), server.Registration(namespace), server.Thing(namespace, "own"), configMap("settings", "a")), retrySoon)
		// A spec that fails must not leave an API that does not answer: it would break discovery for all others.
		DeferCleanup(func(ctx SpecContext) { _ = k8s.Delete(ctx, newAPIService(server.APIService())) })
		expectReady(ctx, g)
		mark = markAudit(ctx)
	})
	untouched := func(ctx context.Context) {
		GinkgoHelper()
		Expect(verbs(inNamespace(requestsSince(ctx, mark, operatorName), namespace).Verb("delete"))).To(BeEmpty())
		mustGet(ctx, "apiregistration.k8s.io/v1", "APIService", "", server.APIService())
	}

	It("applies its instances last, and deletes them first", func(ctx SpecContext) {
		created := succeeded(inNamespace(requestsSince(ctx, 0, operatorName), namespace).Resource("configmaps", "things").Writes())
		Expect(verbs(created)).To(Equal([]string{"patch configmaps 201", "patch things 201"}))
		remove(ctx, g)
		expectGone(ctx, g)
		deleted := requestsSince(ctx, mark, operatorName).Verb("delete").Where(func(e testcluster.Event) bool {
			return e.Namespace == namespace || e.Name == server.APIService()
		})
		Expect(verbs(deleted)[:2]).To(Equal([]string{"delete things 200", "delete apiservices 200"}))
	})

	It("is not deleted with its component while foreign instances exist, in any namespace", func(ctx SpecContext) {
		foreign := create(ctx, server.Thing(elsewhere, "theirs"))
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(
			HavePrefix("True ForeignInstances"), ContainSubstring(elsewhere+"/theirs"), Not(ContainSubstring("own"))))
		untouched(ctx)
		remove(ctx, foreign[0])
		lifted := time.Now()
		expectGone(ctx, g)
		Expect(time.Since(lifted)).To(BeNumerically("<", 5*time.Second))
	})

	It("is not pruned while foreign instances exist", func(ctx SpecContext) {
		foreign := create(ctx, server.Thing(elsewhere, "theirs"))
		changeManifests(ctx, g, together(server.Service(), configMap("settings", "a")))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True ForeignInstances"), ContainSubstring(elsewhere+"/theirs")))
		untouched(ctx)
		remove(ctx, foreign[0])
		expectReady(ctx, g)
		_, err := get(ctx, "apiregistration.k8s.io/v1", "APIService", "", server.APIService())
		Expect(err).To(MatchError(ContainSubstring("not found")))
	})

	It("is not deleted while it does not answer, and is when it does again", func(ctx SpecContext) {
		server.Down(true)
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(
			HavePrefix("True ForeignInstances"), ContainSubstring("does not answer"), ContainSubstring("delete it yourself")))
		untouched(ctx)
		server.Down(false)
		expectGone(ctx, g)
	})

	It("does not hold up its component for ever: once its APIService is deleted by hand, the rest follows", func(ctx SpecContext) {
		server.Down(true)
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, ContainSubstring("does not answer"))
		Expect(k8s.Delete(ctx, newAPIService(server.APIService()))).To(Succeed())
		expectGone(ctx, g)
	})
})
