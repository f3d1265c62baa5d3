package conformance_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

var _ = Describe("Foreign instances of a type in the component:", func() {
	var namespace, elsewhere, group string
	var g *gadget.Gadget
	var mark auditMark

	BeforeEach(func(ctx SpecContext) {
		namespace, elsewhere, group = newNamespace(ctx), newNamespace(ctx), newGroup()
		g = newGadget(ctx, namespace, "app", together(widgetDefinition(group), widget(group, "own"),
			configMap("settings", "a")))
		expectReady(ctx, g)
		mark = markAudit(ctx)
	})

	inElsewhere := func(name string) string {
		return strings.Replace(widget(group, name), "{name:", "{namespace: "+elsewhere+", name:", 1)
	}
	deletes := func(ctx context.Context) testcluster.Events {
		GinkgoHelper()
		return requestsSince(ctx, mark, operatorName).Verb("delete", "deletecollection").
			Where(func(e testcluster.Event) bool {
				return e.Namespace == namespace || strings.HasSuffix(e.Name, group)
			})
	}
	definition := func(ctx context.Context) (*unstructured.Unstructured, error) {
		return get(ctx, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets."+group)
	}

	It("foreign instances block the deletion of the component, and no dependent is deleted before the foreign "+
		"instances", func(ctx SpecContext) {
		foreign := create(ctx, inElsewhere("theirs"))
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(
			HavePrefix("True ForeignInstances"), ContainSubstring(elsewhere+"/theirs"), Not(ContainSubstring("own"))))
		Expect(current(ctx, g).Status.State).To(Equal(metav1alpha1.StateDeletionBlocked))
		Expect(verbs(deletes(ctx))).To(BeEmpty())

		remove(ctx, foreign[0])
		expectNotFound(ctx, g)
		_, err := definition(ctx)
		Expect(err).To(HaveOccurred())
		Expect(deletes(ctx)[0].Resource).To(Equal("widgets"), "the component's own instance must be deleted first")
	})

	It("the message about foreign instances contains their number and at most ten of their names", func(ctx SpecContext) {
		for i := range 12 {
			create(ctx, inElsewhere(fmt.Sprintf("theirs-%02d", i)))
		}
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(
			ContainSubstring("12 foreign instances"), ContainSubstring("theirs-02 and more"),
			Not(ContainSubstring("theirs-03"))))
		Expect(current(ctx, g).Status.Blocked).To(HaveExactElements(And(
			HaveField("Count", int32(12)), HaveField("Names", And(HaveLen(10), ContainElement(HaveSuffix("theirs-09")))))))
	})

	It("a copy of an instance that has the component's labels is a foreign instance", func(ctx SpecContext) {
		copied := mustGet(ctx, group+"/v1", "Widget", namespace, "own")
		copied.SetName("copied")
		copied.SetResourceVersion("")
		copied.SetUID("")
		copied.SetManagedFields(nil)
		Expect(k8s.Create(ctx, copied)).To(Succeed())
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, ContainSubstring(namespace+"/copied"))
		Expect(verbs(deletes(ctx))).To(BeEmpty())
	})

	It("after a dependent was pruned, an instance with the same name that another client creates is a "+
		"foreign instance", func(ctx SpecContext) {
		// The instance is no longer rendered and is pruned. Then another client creates an instance of the same name.
		changeManifests(ctx, g, together(widgetDefinition(group), configMap("settings", "a")))
		expectReady(ctx, g)
		create(ctx, strings.Replace(widget(group, "own"), "{name:", "{namespace: "+namespace+", name:", 1))
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, ContainSubstring(namespace+"/own"))
	})

	It("foreign instances block the pruning of a definition", func(ctx SpecContext) {
		foreign := create(ctx, inElsewhere("theirs"))
		changeManifests(ctx, g, configMap("settings", "b"))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True ForeignInstances"),
			ContainSubstring("theirs")))
		Expect(verbs(deletes(ctx))).To(BeEmpty())
		remove(ctx, foreign[0])
		expectReady(ctx, g)
		Eventually(ctx, func() error { _, err := definition(ctx); return err }).ShouldNot(Succeed())
	})

	It("an instance that is still rendered blocks the pruning of its definition", func(ctx SpecContext) {
		changeManifests(ctx, g, together(widget(group, "own"), configMap("settings", "b")))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True ForeignInstances"),
			ContainSubstring(namespace+"/own")))
		Expect(verbs(deletes(ctx))).To(BeEmpty())
	})

	It("an instance with the delete policy orphan blocks the deletion of its definition, because Kubernetes would delete "+
		"the instance together with the definition", func(ctx SpecContext) {
		released := strings.Replace(widget(group, "own"), "{name: own}",
			"{name: own, annotations: {"+deletePolicy("orphan")+"}}", 1)
		changeManifests(ctx, g, together(widgetDefinition(group), released, configMap("settings", "b")))
		expectReady(ctx, g)
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True ForeignInstances"),
			ContainSubstring(namespace+"/own")))
		Expect(verbs(deletes(ctx))).To(BeEmpty())
	})

	It("while foreign instances block a deletion, the condition shows the foreign instances that are created and "+
		"deleted meanwhile", func(ctx SpecContext) {
		first := create(ctx, inElsewhere("first"))
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, ContainSubstring("first"))
		second := create(ctx, inElsewhere("second"))
		remove(ctx, first[0])
		expectCondition(ctx, g, metav1alpha1.ConditionStalled,
			And(ContainSubstring("second"), Not(ContainSubstring("first"))))
		Expect(verbs(deletes(ctx))).To(BeEmpty())
		remove(ctx, second[0])
		expectNotFound(ctx, g)
	})

	It("foreign instances do not block a deletion after another client deleted their definition", func(ctx SpecContext) {
		create(ctx, inElsewhere("theirs"))
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, ContainSubstring("theirs"))
		crd, err := definition(ctx)
		Expect(err).NotTo(HaveOccurred())
		remove(ctx, crd)
		expectNotFound(ctx, g)
	})

	It("foreign instances block a deletion while no version of their type is served", func(ctx SpecContext) {
		foreign := create(ctx, inElsewhere("theirs"))
		changeManifests(ctx, g, together(configMap("settings", "a"), strings.Replace(widgetDefinition(group), "served: true",
			"served: false", 1)))
		Eventually(ctx, func() error { _, err := get(ctx, group+"/v1", "Widget", elsewhere, "theirs"); return err }).
			ShouldNot(Succeed())
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True ForeignInstances"),
			ContainSubstring("serve a version")))
		crd, err := definition(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(crd.GetDeletionTimestamp()).To(BeNil())

		Expect(k8s.Patch(ctx, crd, client.RawPatch(types.JSONPatchType,
			[]byte(`[{"op":"replace","path":"/spec/versions/0/served","value":true}]`)))).To(Succeed())
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, ContainSubstring(elsewhere+"/theirs"))
		remove(ctx, foreign[0])
		expectNotFound(ctx, g)
	})

	It("foreign instances block a deletion in every version in which they were created, "+
		"stored or served", func(ctx SpecContext) {
		// versions returns the definition with the versions v1 and v2. Objects are stored in v2. The arguments select the
		// served versions.
		versions := func(first, second bool) string {
			v1 := strings.NewReplacer("served: true", fmt.Sprintf("served: %t", first), "storage: true", "storage: false").
				Replace(widgetDefinition(group))
			v2 := widgetDefinition(group)
			v2 = strings.NewReplacer("name: v1", "name: v2", "served: true", fmt.Sprintf("served: %t", second)).
				Replace(v2[strings.Index(v2, "    - name: v1"):])
			return v1 + "\n" + v2
		}
		By("creating an instance that is stored in v1, and an instance through v1 that is stored in v2")
		foreign := create(ctx, inElsewhere("former"))
		changeManifests(ctx, g, together(configMap("settings", "a"), versions(true, true)))
		Eventually(ctx, func() error { _, err := get(ctx, group+"/v2", "Widget", elsewhere, "former"); return err }).
			Should(Succeed())
		foreign = append(foreign, create(ctx, inElsewhere("latter"))...)
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(
			HavePrefix("True ForeignInstances"), ContainSubstring(elsewhere+"/former"), ContainSubstring(elsewhere+"/latter")))

		By("serving only the version in which no instance was created")
		crd, err := definition(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(k8s.Patch(ctx, crd, client.RawPatch(types.JSONPatchType,
			[]byte(`[{"op":"replace","path":"/spec/versions/0/served","value":false}]`)))).To(Succeed())
		Eventually(ctx, func() error { _, err := get(ctx, group+"/v1", "Widget", elsewhere, "former"); return err }).
			ShouldNot(Succeed())
		remove(ctx, mustGet(ctx, group+"/v2", "Widget", elsewhere, "former"))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(
			ContainSubstring(elsewhere+"/latter"), Not(ContainSubstring(elsewhere+"/former"))))
		remove(ctx, mustGet(ctx, group+"/v2", "Widget", elsewhere, foreign[1].GetName()))
		expectNotFound(ctx, g)
	})
})

var _ = Describe("Instances that were created again before a crash:", func() {
	It("an instance that the operator recreated just before a crash is not treated as a foreign instance, and is deleted "+
		"with the component", func(ctx SpecContext) {
		namespace, group, operator := newNamespace(ctx), newGroup(), newOperatorName()
		stop := runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", together(widgetDefinition(group), widget(group, "own")), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		stop()
		previous := mustGet(ctx, group+"/v1", "Widget", namespace, "own")
		remove(ctx, previous)
		runUntilCrash(ctx, operator, operatorOptions{}, &crash{counts: writesTo(namespace, "gadgets")})
		Expect(mustGet(ctx, group+"/v1", "Widget", namespace, "own").GetUID()).NotTo(Equal(previous.GetUID()))
		remove(ctx, g)
		runOperator(operator, operatorOptions{})
		expectNotFound(ctx, g)
		_, err := get(ctx, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets."+group)
		Expect(err).To(MatchError(ContainSubstring("not found")))
	})
})
