package conformance_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// expectBlocked waits until the deletion of a gadget is blocked by another one that is not being deleted.
func expectBlocked(ctx context.Context, g *gadget.Gadget, by string) {
	GinkgoHelper()
	expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False DependedOn: "),
		ContainSubstring("are not being deleted: Gadget.gadgets.example.com "+by+"; delete them, or ")))
	Expect(current(ctx, g).Status.Status).To(And(
		HaveField("State", metav1alpha1.StateDeletionBlocked), HaveField("ProgressingSince", BeNil()),
		HaveField("Waiting", reporting(by, "DependedOn", "it depends on this component, and is not being deleted"))))
}

// dropHold removes the finalizer that a spec has set.
func dropHold(ctx context.Context, g *gadget.Gadget) {
	GinkgoHelper()
	change(ctx, g, func(g *gadget.Gadget) {
		g.Finalizers = slices.DeleteFunc(g.Finalizers, func(f string) bool { return f == "example.com/hold" })
	})
}

var _ = Describe("Dependencies between components, the order of deletions:", func() {
	var namespace, operator string
	BeforeEach(func(ctx SpecContext) { namespace, operator = newNamespace(ctx), newOperatorName() })
	newReady := func(ctx context.Context, in, name string, edits ...func(*gadget.Gadget)) *gadget.Gadget {
		GinkgoHelper()
		g := newGadget(ctx, in, name, configMap(name, "a"), append(edits, servedBy(operator))...)
		expectReady(ctx, g)
		return g
	}

	DescribeTable("a blocked deletion ends when the edge does",
		func(ctx SpecContext, end func(ctx context.Context, db, web *gadget.Gadget)) {
			runOperator(operator, operatorOptions{})
			infra := newNamespace(ctx)
			db := newReady(ctx, infra, "db", allowing(namespace))
			web := newReady(ctx, namespace, "web", needing(infra+"/db"))
			remove(ctx, db)
			expectBlocked(ctx, db, namespace+"/web")
			settle(ctx, operator)
			mark := markAudit(ctx)
			patch(ctx, newConfigMap(namespace, "web"), `{"data":{"value":"edited"}}`)
			Eventually(ctx, valueOf(ctx, namespace, "web")).Should(Equal("a"), "what is applied is repaired")
			settle(ctx, operator)
			Expect(writesIn(ctx, mark, operator, infra)).To(BeEmpty())
			Expect(configMapExists(ctx, infra, "db")).To(BeTrue())
			end(ctx, db, web)
			expectNotFound(ctx, db)
			Expect(configMapExists(ctx, infra, "db")).To(BeFalse())
		},
		Entry("because the holder does not name it any more", func(ctx context.Context, _, web *gadget.Gadget) {
			change(ctx, web, needing())
		}),
		Entry("because the holder lets it go", func(ctx context.Context, _, web *gadget.Gadget) {
			change(ctx, web, func(g *gadget.Gadget) { g.Spec.DependsOn[0].Deletion = metav1alpha1.DependencyIgnored })
		}),
		Entry("because the holder is deleted", func(ctx context.Context, _, web *gadget.Gadget) {
			remove(ctx, web)
			expectNotFound(ctx, web)
		}),
		Entry("because it allows the namespace of the holder no more", func(ctx context.Context, db, web *gadget.Gadget) {
			change(ctx, db, allowing())
			expectReady(ctx, web)
		}),
	)

	DescribeTable("components that are deleted together go in the reverse order",
		func(ctx SpecContext, names []string) {
			runOperator(operator, operatorOptions{})
			all := map[string]*gadget.Gadget{"database": newReady(ctx, namespace, "database")}
			all["app"] = newReady(ctx, namespace, "app", needing("database"))
			all["ingress"] = newReady(ctx, namespace, "ingress", needing("app", "database"))
			settle(ctx, operator)
			mark := markAudit(ctx)
			for _, name := range names {
				remove(ctx, all[name])
			}
			for _, g := range all {
				expectNotFound(ctx, g)
			}
			Expect(writesIn(ctx, mark, operator, namespace)).
				To(Equal([]string{"delete configmaps/ingress", "delete configmaps/app", "delete configmaps/database"}))
			Expect(notesOf(ctx, namespace, metav1alpha1.ReasonDependedOn)).
				NotTo(ContainElement(ContainSubstring("not being deleted")), "no deletion was blocked")
		},
		Entry("if they are deleted in the order of their names", []string{"app", "database", "ingress"}),
		Entry("if they are deleted in the wrong order", []string{"database", "app", "ingress"}),
		Entry("if they are deleted in this order", []string{"ingress", "app", "database"}),
	)

	It("a deletion that waits only for components that are being deleted alarms nobody", func(ctx SpecContext) {
		runOperator(operator, operatorOptions{})
		db := newReady(ctx, namespace, "db")
		web := newReady(ctx, namespace, "web", needing("db"), func(g *gadget.Gadget) {
			g.Finalizers = []string{"example.com/hold"}
		})
		remove(ctx, web)
		expectCondition(ctx, web, metav1alpha1.ConditionReady, "False ForeignFinalizers")
		remove(ctx, db)
		expectCondition(ctx, db, metav1alpha1.ConditionReady, And(HavePrefix("False DependedOn: "),
			HaveSuffix("are deleted: Gadget.gadgets.example.com "+namespace+"/web")))
		Expect(current(ctx, db).Status.State).To(Equal(metav1alpha1.StateDeleting))
		Expect(condition(current(ctx, db), metav1alpha1.ConditionStalled)).NotTo(HavePrefix("True"))
		dropHold(ctx, web)
		expectNotFound(ctx, web)
		expectNotFound(ctx, db)
	})

	It("a restart while a deletion waits deletes nothing", func(ctx SpecContext) {
		stop := runOperator(operator, operatorOptions{})
		db := newReady(ctx, namespace, "db")
		web := newReady(ctx, namespace, "web", needing("db"))
		remove(ctx, db)
		expectBlocked(ctx, db, namespace+"/web")
		settle(ctx, operator)
		stop()
		mark := markAudit(ctx)
		runAgain(ctx, operator)
		requestPass(ctx, db, operator)
		settle(ctx, operator)
		Expect(writesIn(ctx, mark, operator, namespace)).To(BeEmpty())
		expectBlocked(ctx, db, namespace+"/web")
		remove(ctx, web)
		expectNotFound(ctx, web)
		expectNotFound(ctx, db)
		Expect(writesIn(ctx, mark, operator, namespace)).
			To(Equal([]string{"delete configmaps/web", "delete configmaps/db"}))
	})

	It("components of a cycle that are all deleted do not hold each other, and one that stays "+
		"does", func(ctx SpecContext) {
		runOperator(operator, operatorOptions{})
		db := newReady(ctx, namespace, "db")
		web := newReady(ctx, namespace, "web", needing("db"))
		change(ctx, db, needing("web")) // What is applied does not wait.
		expectReady(ctx, db)
		remove(ctx, db)
		expectBlocked(ctx, db, namespace+"/web")
		remove(ctx, web)
		expectNotFound(ctx, web)
		expectNotFound(ctx, db)
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
	})

	DescribeTable("a terminating namespace is not held",
		func(ctx SpecContext, isBlocked bool) {
			if !cluster.HasControllers {
				Skip("no controller manager")
			}
			runOperator(operator, operatorOptions{})
			db := newReady(ctx, namespace, "db")
			web := newReady(ctx, namespace, "web", needing("db"), func(g *gadget.Gadget) {
				g.Finalizers = []string{"example.com/hold"}
			})
			if isBlocked {
				remove(ctx, db)
				expectBlocked(ctx, db, namespace+"/web")
				settle(ctx, operator)
			}
			remove(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
			expectNotFound(ctx, db)
			Expect(current(ctx, web).Finalizers).To(ContainElement("example.com/hold"), "web is still there")
			dropHold(ctx, web)
			expectNotFound(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
		},
		Entry("by a deletion that begins with it", false),
		Entry("by a deletion that was blocked before", true),
	)

	It("a component cannot wait for the one that it is a dependent of, and does not hold it", func(ctx SpecContext) {
		runOperator(operator, operatorOptions{})
		child := func(spec string) string {
			return fmt.Sprintf("apiVersion: gadgets.example.com/v1\nkind: Gadget\n"+
				"metadata: {name: child, labels: {%s: %s}}\nspec:\n  %s\n  manifests: |\n    %s", operatorLabel, operator, spec,
				strings.ReplaceAll(configMap("settings", "a"), "\n", "\n    "))
		}
		parent := newGadget(ctx, namespace, "parent", child("suspend: false"), servedBy(operator))
		expectReady(ctx, parent)
		changeManifests(ctx, parent, child("dependsOn: [{name: parent}]"))
		expectReady(ctx, parent)
		found := &gadget.Gadget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "child"}}
		Expect(current(ctx, found).Spec.DependsOn).To(HaveLen(1))

		By("stalling when it gets new inputs")
		changeManifests(ctx, parent, strings.Replace(child("dependsOn: [{name: parent}]"), `"a"`, `"b"`, 1))
		expectCondition(ctx, found, metav1alpha1.ConditionReady, And(HavePrefix("False DependencyCycle: "),
			ContainSubstring("%[1]s/child depends on %[1]s/parent contains %[1]s/child", namespace)))
		expectCondition(ctx, parent, metav1alpha1.ConditionReady, ContainSubstring("/child"))

		By("being deleted with it")
		remove(ctx, parent)
		expectNotFound(ctx, parent)
		expectNotFound(ctx, found)
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
	})
})
