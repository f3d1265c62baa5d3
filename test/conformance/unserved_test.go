package conformance_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/aggregate"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// acceptUnknown sets the annotation that fairlead delete --accept-unknown sets before the deletion.
func acceptUnknown(ctx context.Context, g *gadget.Gadget, operator, group string) {
	GinkgoHelper()
	patch(ctx, current(ctx, g), fmt.Sprintf(`{"metadata":{"annotations":{"%s/accept-unknown":%q}}}`, operator, group))
}

// awaitDefinitionDeleted waits for the deletion of a definition whose type may never have been requested.
func awaitDefinitionDeleted(ctx context.Context, name string) {
	GinkgoHelper()
	Expect(cluster.AwaitDefinitionDeleted(ctx, name)).To(Succeed())
}

var _ = Describe("Definitions that serve no version:", func() {
	var namespace, group string

	BeforeEach(func() { group = newGroup() })
	unserved := func(text string) string { return strings.Replace(text, "served: true", "served: false", 1) }
	blocked := func(ctx context.Context, g *gadget.Gadget, message string) {
		GinkgoHelper()
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True ForeignInstances"),
			ContainSubstring(message), MatchRegexp(`fairlead delete -n \S+ \S+ --accept-unknown `+group)))
	}

	It("a definition that never served a version does not block a deletion", func(ctx SpecContext) {
		namespace = newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", together(unserved(widgetDefinition(group)), configMap("settings", "a")))
		expectReady(ctx, g)
		remove(ctx, g)
		awaitDefinitionDeleted(ctx, "widgets."+group)
		expectNotFound(ctx, g)
	})

	It("a definition that never served a version does not block a deletion, also after changes of its manifest "+
		"and a restart", func(ctx SpecContext) {
		namespace = newNamespace(ctx)
		operator := newOperatorName()
		stop := runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", unserved(widgetDefinition(group)), servedBy(operator))
		expectReady(ctx, g)
		changed := strings.Replace(unserved(widgetDefinition(group)), "spec: {type: object,",
			"spec: {type: object, description: changed,", 1)
		changeManifests(ctx, g, changed)
		expectReady(ctx, g)
		Expect(mustGet(ctx, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets."+group).GetGeneration()).
			To(BeEquivalentTo(2))
		settle(ctx, operator)
		stop()
		runOperator(operator, operatorOptions{})
		remove(ctx, g)
		awaitDefinitionDeleted(ctx, "widgets."+group)
		expectNotFound(ctx, g)
	})

	It("a definition that served a version before is not deleted until the user accepts that its stored "+
		"instances are lost", func(ctx SpecContext) {
		namespace = newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", widgetDefinition(group))
		expectReady(ctx, g)
		create(ctx, strings.Replace(widget(group, "theirs"), "{name:", "{namespace: "+namespace+", name:", 1))
		changeManifests(ctx, g, unserved(widgetDefinition(group)))
		expectReady(ctx, g)
		remove(ctx, g)
		blocked(ctx, g, "widgets."+group+" serves no version, but may have served a version before")
		acceptUnknown(ctx, g, operatorName, "other.example.com")
		settle(ctx, operatorName)
		blocked(ctx, g, "serves no version")
		acceptUnknown(ctx, g, operatorName, group)
		awaitDefinitionDeleted(ctx, "widgets."+group)
		expectNotFound(ctx, g)
	})

	It("a definition that other clients changed is not deleted until the user accepts that its instances are lost, "+
		"because the definition may have served a version", func(ctx SpecContext) {
		namespace = newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", unserved(widgetDefinition(group)))
		expectReady(ctx, g)
		crd := mustGet(ctx, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets."+group)
		patch(ctx, crd, `{"spec":{"names":{"shortNames":["wid"]}}}`)
		settle(ctx, operatorName)
		remove(ctx, g)
		blocked(ctx, g, "serves no version, but may have served a version before")
		acceptUnknown(ctx, g, operatorName, group)
		awaitDefinitionDeleted(ctx, "widgets."+group)
		expectNotFound(ctx, g)
	})

	It("a foreign instance that can be listed blocks a deletion, although the user accepted the loss of "+
		"unknown instances", func(ctx SpecContext) {
		namespace = newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", widgetDefinition(group))
		expectReady(ctx, g)
		foreign := create(ctx, strings.Replace(widget(group, "theirs"), "{name:", "{namespace: "+namespace+", name:", 1))
		acceptUnknown(ctx, g, operatorName, group)
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True ForeignInstances"),
			ContainSubstring(namespace+"/theirs")))
		remove(ctx, foreign[0])
		expectNotFound(ctx, g)
	})
})

var _ = Describe("Aggregated APIs that do not respond:", func() {
	var namespace, operator string
	var server *aggregate.Server
	var stop func()

	BeforeEach(func(ctx SpecContext) {
		namespace, operator = newNamespace(ctx), newOperatorName()
		server = aggregate.Start(newGroup())
		DeferCleanup(server.Close)
		DeferCleanup(func(ctx SpecContext) { _ = k8s.Delete(ctx, newAPIService(server.APIService())) })
		server.Down(true)
		stop = runOperator(operator, operatorOptions{})
	})
	group := func() string { return strings.TrimPrefix(server.APIService(), aggregate.Version+".") }
	start := func(ctx context.Context, edits ...func(*gadget.Gadget)) *gadget.Gadget {
		GinkgoHelper()
		g := newGadget(ctx, namespace, "app", together(server.Service(), server.Registration(namespace),
			configMap("settings", "a")),
			append(edits, servedBy(operator), retrySoon)...)
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False"), ContainSubstring("APIService")))
		settle(ctx, operator)
		return g
	}
	blocked := func(ctx context.Context, g *gadget.Gadget) {
		GinkgoHelper()
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True ForeignInstances"),
			ContainSubstring("it was not created for this component, or was available before, or the record of that was lost"),
			MatchRegexp(`fairlead delete -n \S+ \S+ --accept-unknown `+group())))
		mustGet(ctx, "apiregistration.k8s.io/v1", "APIService", "", server.APIService())
	}
	acceptAndEnd := func(ctx context.Context, g *gadget.Gadget) {
		GinkgoHelper()
		acceptUnknown(ctx, g, operator, group())
		expectNotFound(ctx, g)
		_, err := get(ctx, "apiregistration.k8s.io/v1", "APIService", "", server.APIService())
		Expect(err).To(MatchError(ContainSubstring("not found")))
	}

	It("an APIService that the component created, and whose API was never available, does not "+
		"block a deletion", func(ctx SpecContext) {
		g := start(ctx)
		remove(ctx, g)
		expectNotFound(ctx, g)
	})

	It("an APIService whose API was never available does not block a deletion after a restart of "+
		"the operator", func(ctx SpecContext) {
		g := start(ctx, func(g *gadget.Gadget) {
			g.Spec.ManagedTypes = []metav1alpha1.TypePattern{{
				Group: "*",
				Kind:  "Gizmo",
			}}
		})
		stop()
		runOperator(operator, operatorOptions{})
		remove(ctx, g)
		expectNotFound(ctx, g)
	})

	It("an adopted APIService whose API does not respond blocks a deletion until the user accepts that its "+
		"objects are lost", func(ctx SpecContext) {
		create(ctx, server.Registration(namespace))
		g := start(ctx)
		remove(ctx, g)
		blocked(ctx, g)
		acceptAndEnd(ctx, g)
	})

	It("after the loss of the inventory, an APIService whose API does not respond blocks a deletion until somebody "+
		"deletes the APIService", func(ctx SpecContext) {
		g := start(ctx)
		stop()
		emptied := current(ctx, g)
		emptied.Status = gadget.GadgetStatus{}
		Expect(k8s.Status().Update(ctx, emptied)).To(Succeed())
		remove(ctx, g)
		runOperator(operator, operatorOptions{})
		expectCondition(ctx, g, metav1alpha1.ConditionReady,
			And(HavePrefix("False Retrying"), ContainSubstring(server.GroupVersion())))
		mustGet(ctx, "apiregistration.k8s.io/v1", "APIService", "", server.APIService())
		remove(ctx, newAPIService(server.APIService()))
		expectNotFound(ctx, g)
	})

	It("an APIService whose API was available only while no operator ran blocks a deletion until the user accepts that "+
		"its objects are lost", func(ctx SpecContext) {
		g := start(ctx)
		stop()
		// The API server checks an APIService at once when the APIService changes.
		available := func() string {
			patch(ctx, newAPIService(server.APIService()), fmt.Sprintf(`{"metadata":{"annotations":{"look":"%d"}}}`,
				time.Now().UnixNano()))
			return fmt.Sprint(mustGet(ctx, "apiregistration.k8s.io/v1", "APIService", "", server.APIService()).Object["status"])
		}
		Eventually(func() time.Duration {
			return time.Since(mustGet(ctx, "apiregistration.k8s.io/v1", "APIService", "", server.APIService()).
				GetCreationTimestamp().Time)
		}).Should(BeNumerically(">", 6*time.Second))
		server.Down(false)
		Eventually(ctx, available).Should(ContainSubstring("status:True"))
		server.Down(true)
		Eventually(ctx, available).Should(ContainSubstring("status:False"))
		runOperator(operator, operatorOptions{})
		remove(ctx, g)
		blocked(ctx, g)
		acceptAndEnd(ctx, g)
	})
})
