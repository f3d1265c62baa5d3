package conformance_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

var _ = Describe("Dependencies between components, the order of new inputs:", func() {
	var namespace, operator string
	BeforeEach(func(ctx SpecContext) { namespace, operator = newNamespace(ctx), newOperatorName() })

	// newPair returns the gadget db, and the gadget web that depends on it. Both are Ready.
	newPair := func(ctx context.Context) (db, web *gadget.Gadget) {
		GinkgoHelper()
		db = newGadget(ctx, namespace, "db", configMap("db", "a"), servedBy(operator))
		web = newGadget(ctx, namespace, "web", configMap("web", "a"), servedBy(operator), needing("db"))
		expectReady(ctx, db)
		expectReady(ctx, web)
		return db, web
	}
	// hold gives a gadget a dependent that does not get ready.
	hold := func(ctx context.Context, g *gadget.Gadget) {
		GinkgoHelper()
		changeManifests(ctx, g, together(configMap(g.Name, "b"), heldDeployment(g.Name)))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, "False DependentsNotReady")
	}
	release := func(ctx context.Context, g *gadget.Gadget) {
		GinkgoHelper()
		changeManifests(ctx, g, configMap(g.Name, "b"))
	}

	It("components are created and upgraded in order, whatever order they are written in", func(ctx SpecContext) {
		runOperator(operator, operatorOptions{})
		needs := map[string]string{"app": "database", "ingress": "app"}
		var written []*gadget.Gadget
		mark := markAudit(ctx)
		// This is the order in which kubectl apply sends the files of a folder.
		for _, name := range []string{"app", "database", "ingress"} {
			g := newGadget(ctx, namespace, name, configMap(name, "a"), servedBy(operator), func(g *gadget.Gadget) {
				if other, found := needs[name]; found {
					needing(other)(g)
				}
			})
			written = append(written, g)
		}
		for _, g := range written {
			expectReady(ctx, g)
		}
		Expect(writesIn(ctx, mark, operator, namespace)).
			To(Equal([]string{"create configmaps/database", "create configmaps/app", "create configmaps/ingress"}))

		settle(ctx, operator)
		mark = markAudit(ctx)
		for _, g := range written {
			changeManifests(ctx, g, configMap(g.Name, "b"))
		}
		for _, g := range written {
			expectReady(ctx, g)
		}
		Expect(writesIn(ctx, mark, operator, namespace)).
			To(Equal([]string{"update configmaps/database", "update configmaps/app", "update configmaps/ingress"}))
	})

	It("what is applied is repaired while new inputs wait", func(ctx SpecContext) {
		runOperator(operator, operatorOptions{})
		db, web := newPair(ctx)
		hold(ctx, db)
		changeManifests(ctx, web, configMap("web", "b"))
		expectWaits(ctx, web, namespace+"/db", "it is not Ready (spec.dependsOn[0])")
		Expect(condition(current(ctx, web), metav1alpha1.ConditionReady)).
			To(HaveSuffix("until then, nothing of the new inputs is applied"))

		patch(ctx, newConfigMap(namespace, "web"), `{"data":{"value":"edited"}}`)
		Eventually(ctx, valueOf(ctx, namespace, "web")).Should(Equal("a"))
		remove(ctx, newConfigMap(namespace, "web"))
		Eventually(ctx, func() bool { return configMapExists(ctx, namespace, "web") }).Should(BeTrue())
		Expect(valueOf(ctx, namespace, "web")()).To(Equal("a"))
		settle(ctx, operator)
		Expect(current(ctx, web).Status.Status).To(And(HaveField("State", metav1alpha1.StateProgressing),
			HaveField("Waiting", reporting(namespace+"/db", "ComponentNotReady", "it is not Ready"))))

		release(ctx, db)
		expectReady(ctx, web)
		Expect(valueOf(ctx, namespace, "web")()).To(Equal("b"))
	})

	It("a suspended component counts with what it has applied", func(ctx SpecContext) {
		runOperator(operator, operatorOptions{})
		db, web := newPair(ctx)
		change(ctx, db, func(g *gadget.Gadget) { g.Spec.Suspend = true })
		expectCondition(ctx, db, metav1alpha1.ConditionReady, "Unknown Suspended")
		changeManifests(ctx, web, configMap("web", "b"))
		expectReady(ctx, web)
		Expect(valueOf(ctx, namespace, "web")()).To(Equal("b"))
	})

	It("a restart while a component waits changes nothing, and the component goes on when the other one is "+
		"Ready", func(ctx SpecContext) {
		stop := runOperator(operator, operatorOptions{})
		db, web := newPair(ctx)
		hold(ctx, db)
		changeManifests(ctx, web, configMap("web", "b"))
		expectWaits(ctx, web, namespace+"/db", "it is not Ready")
		late := newGadget(ctx, namespace, "late", configMap("late", "a"), servedBy(operator), needing("web"))
		expectWaits(ctx, late, namespace+"/web", "it is not Ready")
		settle(ctx, operator)
		stop()

		mark := markAudit(ctx)
		runAgain(ctx, operator)
		for _, g := range []*gadget.Gadget{web, late} {
			requestPass(ctx, g, operator)
		}
		settle(ctx, operator)
		Expect(writesIn(ctx, mark, operator, namespace)).To(BeEmpty())
		Expect(condition(current(ctx, web), metav1alpha1.ConditionReady)).To(HavePrefix("False DependencyNotReady"))
		release(ctx, db)
		expectReady(ctx, web)
		expectReady(ctx, late)
		Expect(writesIn(ctx, mark, operator, namespace)).
			To(Equal([]string{"delete deployments/db", "update configmaps/web", "create configmaps/late"}))
	})

	It("a component without dependencies costs no request more, and one with dependencies costs one write of its status "+
		"for each wait", func(ctx SpecContext) {
		runOperator(operator, operatorOptions{})
		// cost returns the requests of an operator for a gadget, its ConfigMaps and its namespace.
		cost := func(name string, since auditMark) []string {
			var told []string
			for _, e := range requestsSince(ctx, since, operator) {
				if e.Name == namespace || e.Namespace == namespace && strings.HasPrefix(e.Name, name) {
					told = append(told, verbs(testcluster.Events{e})...)
				}
			}
			return told
		}
		expectReady(ctx, newGadget(ctx, namespace, "first", configMaps("first", 3, "a"), servedBy(operator)))
		settle(ctx, operator)

		mark := markAudit(ctx)
		plain := newGadget(ctx, namespace, "plain", configMaps("plain", 3, "a"), servedBy(operator))
		expectReady(ctx, plain)
		settle(ctx, operator)
		created := cost("plain", mark)
		Expect(len(created)).To(BeNumerically("<=", 3+4))

		mark = markAudit(ctx)
		web := newGadget(ctx, namespace, "web", configMaps("web", 3, "a"), servedBy(operator), needing("plain"))
		expectReady(ctx, web)
		settle(ctx, operator)
		Expect(cost("web", mark)).To(Equal(created), "the dependency was Ready")
		Expect(cost("plain", mark)).To(BeEmpty(), "nobody reads or writes a component that others depend on")

		mark = markAudit(ctx)
		late := newGadget(ctx, namespace, "late", configMaps("late", 3, "a"), servedBy(operator),
			needing("absent", "plain"))
		expectWaits(ctx, late, namespace+"/absent", "it does not exist")
		settle(ctx, operator)
		Expect(cost("late", mark)).To(Equal([]string{"update gadgets/status 200"}))
		newGadget(ctx, namespace, "absent", configMap("absent", "a"), servedBy(operator))
		expectReady(ctx, late)
		settle(ctx, operator)
		Expect(len(cost("late", mark))).To(BeNumerically("<=", 1+1+len(created)))

		mark = markAudit(ctx)
		for _, g := range []*gadget.Gadget{late, web, plain} {
			remove(ctx, g)
			expectNotFound(ctx, g)
			Expect(len(cost(g.Name, mark))).To(BeNumerically("<=", 3+4), g.Name)
		}
	})
})
