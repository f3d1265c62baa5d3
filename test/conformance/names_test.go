package conformance_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

var _ = Describe("Names of the components of others:", func() {
	var operator, green, blue, shared, user string
	var mark auditMark
	BeforeEach(func(ctx SpecContext) {
		operator, green, blue, shared = newOperatorName(), newNamespace(ctx), newNamespace(ctx), newNamespace(ctx)
		runOperator(operator, operatorOptions{})
		user = serviceAccountUser(blue, "deployer")
		expectReady(ctx, newGadget(ctx, green, "secret-project", configMapIn(shared, "settings", "a"), servedBy(operator)))
		mark = markAudit(ctx)
	})
	thief := func(ctx context.Context) *gadget.Gadget {
		GinkgoHelper()
		return newGadget(ctx, blue, "app", configMapIn(shared, "settings", "b"), servedBy(operator),
			asServiceAccount("deployer"), retryLate)
	}
	reviews := func(ctx context.Context) testcluster.Events {
		return requestsSince(ctx, mark, operator).Resource("selfsubjectaccessreviews")
	}
	unnamed := And(HavePrefix("True OwnershipConflict"), ContainSubstring("it is owned by another component"))

	It("a conflict does not name them to a component whose identity may not get the object, neither in its status nor "+
		"in its events", func(ctx SpecContext) {
		grant(ctx, shared, "deployer", user, "configmaps: list")
		g := thief(ctx)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, unnamed)
		Expect(reviews(ctx).As(user)).To(HaveLen(1))
		By("another pass over the same conflict")
		changeManifests(ctx, g, configMapIn(shared, "settings", "c"))
		Eventually(ctx, func() int64 { return current(ctx, g).Status.ObservedGeneration }).
			Should(Equal(current(ctx, g).Generation))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, unnamed)
		Expect(reviews(ctx)).To(HaveLen(1))

		Expect(fmt.Sprintf("%+v", current(ctx, g).Status)).NotTo(Or(ContainSubstring("secret-project"),
			ContainSubstring(green)))
		var events corev1.EventList
		Expect(k8s.List(ctx, &events, client.InNamespace(blue))).To(Succeed())
		Expect(fmt.Sprintf("%+v", events.Items)).NotTo(Or(ContainSubstring("secret-project"), ContainSubstring(green)))
	})

	It("a conflict names them to a component whose identity may get the object, after one access review while the "+
		"conflict lasts", func(ctx SpecContext) {
		grant(ctx, shared, "deployer", user, "configmaps: get, create, patch, delete")
		g := thief(ctx)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True OwnershipConflict"),
			ContainSubstring(green+"/secret-project")))
		Expect(reviews(ctx)).To(HaveLen(1))
		By("the end of the conflict")
		changeManifests(ctx, g, configMapIn(shared, "others", "b"))
		expectReady(ctx, g)
		Expect(reviews(ctx)).To(HaveLen(1))
		By("another conflict")
		changeManifests(ctx, g, configMapIn(shared, "settings", "b"))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True OwnershipConflict"),
			ContainSubstring(green+"/secret-project")))
		Expect(reviews(ctx)).To(HaveLen(2))
	})

	It("a right that is granted during a conflict counts from the next pass that a "+
		"person requests", func(ctx SpecContext) {
		g := thief(ctx)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, unnamed)
		grant(ctx, shared, "deployer", user, "configmaps: get")
		requestPass(ctx, g, operator)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True OwnershipConflict"),
			ContainSubstring(green+"/secret-project")))
		Expect(reviews(ctx).As(user)).To(HaveLen(2))
	})

	// expectNames deletes a component, expects a condition that counts the object of another tenant, and a name in the
	// condition after the identity of the component got the right to get the object.
	expectNames := func(ctx context.Context, g *gadget.Gadget, condition, counted, right, name string) {
		GinkgoHelper()
		remove(ctx, g)
		expectCondition(ctx, g, condition, ContainSubstring(counted))
		Expect(fmt.Sprintf("%+v", current(ctx, g).Status)).NotTo(ContainSubstring("their-project"))
		permit(ctx, "", operator+"-reader", user, right)
		requestPass(ctx, g, operator)
		expectCondition(ctx, g, condition, ContainSubstring(name))
	}

	It("foreign instances of a type that a component defines are counted, and named only if the identity of the "+
		"component may get them", func(ctx SpecContext) {
		group := newGroup()
		permit(ctx, "", operator+"-deployer", user,
			"apiextensions.k8s.io | customresourcedefinitions | get, list, watch, create, patch, delete")
		g := newGadget(ctx, blue, "app", widgetDefinition(group), servedBy(operator), asServiceAccount("deployer"), retryLate)
		expectReady(ctx, g)
		theirs := create(ctx, strings.Replace(widget(group, "their-project"), "{name:", "{namespace: "+green+", name:", 1))
		expectNames(ctx, g, metav1alpha1.ConditionStalled, "exist (1), which the identity of the component may not get",
			group+" | widgets | get", green+"/their-project")
		remove(ctx, theirs[0])
		expectNotFound(ctx, g)
	})

	It("objects of others in a namespace that is to be deleted are counted, and named only if the identity of the "+
		"component may get them", func(ctx SpecContext) {
		inner := blue + "-inner"
		permit(ctx, "", operator+"-deployer", user, "'' | namespaces | get, list, watch, create, patch, delete")
		g := newGadget(ctx, blue, "app", namespaceManifest(inner), servedBy(operator), asServiceAccount("deployer"),
			retryLate)
		expectReady(ctx, g)
		theirs := create(ctx, within(inner, configMap("their-project", "a")))
		expectNames(ctx, g, metav1alpha1.ConditionReady,
			"would be deleted with it (1), which the identity of the component may not get",
			"'' | configmaps | get", inner+"/their-project")
		remove(ctx, theirs[0])
		expectNotFound(ctx, g)
	})
})
