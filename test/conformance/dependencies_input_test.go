package conformance_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// needing lets a gadget depend on others, which are given by NAME or NAMESPACE/NAME.
func needing(others ...string) func(*gadget.Gadget) {
	return func(g *gadget.Gadget) {
		g.Spec.DependsOn = nil
		for _, other := range others {
			namespace, name, found := strings.Cut(other, "/")
			if !found {
				namespace, name = "", other
			}
			g.Spec.DependsOn = append(g.Spec.DependsOn, metav1alpha1.Dependency{Namespace: namespace, Name: name})
		}
	}
}

// allowing lets gadgets in other namespaces depend on a gadget.
func allowing(namespaces ...string) func(*gadget.Gadget) {
	return func(g *gadget.Gadget) {
		g.Spec.AllowDependents = nil
		for _, namespace := range namespaces {
			g.Spec.AllowDependents = append(g.Spec.AllowDependents, metav1alpha1.Consent{Namespace: namespace})
		}
	}
}

// expectWaits waits until a gadget waits with its inputs for another one, with a message that contains the cause.
func expectWaits(ctx context.Context, g *gadget.Gadget, other, cause string) {
	GinkgoHelper()
	expectCondition(ctx, g, metav1alpha1.ConditionReady,
		And(HavePrefix("False DependencyNotReady: "), ContainSubstring(other+": "+cause)))
	Expect(current(ctx, g).Status.Status).To(HaveField("Waiting", reporting(other, "ComponentNotReady", cause)))
}

// reporting matches a list of reports in a status that has one on another gadget.
func reporting(other, reason, message string) gomegatypes.GomegaMatcher {
	return ContainElement(And(
		HaveField("Dependent", "Gadget.gadgets.example.com "+other), HaveField("Reason", reason),
		HaveField("Message", ContainSubstring(message))))
}

var _ = Describe("Dependencies between components, as inputs:", func() {
	var namespace string
	BeforeEach(func(ctx SpecContext) { namespace = newNamespace(ctx) })
	many := func(n int) (all []metav1alpha1.Dependency) {
		for i := range n {
			all = append(all, metav1alpha1.Dependency{Name: fmt.Sprintf("other-%d", i)})
		}
		return all
	}

	DescribeTable("a component whose dependencies cannot be meant has an invalid spec, and nothing is applied",
		func(ctx SpecContext, dependencies []metav1alpha1.Dependency, message string) {
			g := newGadget(ctx, namespace, "app", configMap("settings", "a"),
				func(g *gadget.Gadget) { g.Spec.DependsOn = dependencies })
			expectCondition(ctx, g, metav1alpha1.ConditionReady,
				And(HavePrefix("False InvalidSpec: "), ContainSubstring(message)))
			settle(ctx, operatorName)
			Expect(countConfigMaps(ctx, namespace)).To(BeZero())
			change(ctx, g, needing())
			expectReady(ctx, g)
		},
		Entry("itself", []metav1alpha1.Dependency{{Name: "app"}},
			"spec.dependsOn[0]: the component depends on itself; remove this entry"),
		Entry("one component twice", []metav1alpha1.Dependency{{Name: "db"}, {Name: "queue"}, {Name: "db"}},
			"spec.dependsOn[2]: spec.dependsOn[0] names the same component; remove one of them"),
		Entry("no name", []metav1alpha1.Dependency{{}}, "spec.dependsOn[0]: it names no component; set name"),
		Entry("an unknown rule for deletions", []metav1alpha1.Dependency{{Name: "db", Deletion: "wait"}},
			`spec.dependsOn[0]: deletion is "wait", and can only be block or ignore`),
		Entry("more than 32", many(33), "spec.dependsOn has 33 entries, and at most 32 are possible"),
	)

	It("an unknown component is awaited without a timeout", func(ctx SpecContext) {
		web := newGadget(ctx, namespace, "web", configMap("web", "a"), needing("db"), func(g *gadget.Gadget) {
			g.Spec.Timeout = &metav1.Duration{Duration: time.Millisecond}
		})
		expectWaits(ctx, web, namespace+"/db", "it does not exist (spec.dependsOn[0])")
		requestPass(ctx, web, operatorName)
		settle(ctx, operatorName)
		Expect(current(ctx, web).Status.Status).
			To(And(HaveField("State", metav1alpha1.StateProgressing), HaveField("ProgressingSince", BeNil())))
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
		expectReady(ctx, newGadget(ctx, namespace, "db", configMap("db", "a")))
		change(ctx, web, func(g *gadget.Gadget) { g.Spec.Timeout = nil })
		expectReady(ctx, web)
		Expect(current(ctx, web).Status.Waiting).To(BeEmpty())
	})

	It("components that wait for each other are stalled, name the cycle, and go on when it is "+
		"opened", func(ctx SpecContext) {
		web := newGadget(ctx, namespace, "web", configMap("web", "a"), needing("db"))
		db := newGadget(ctx, namespace, "db", configMap("db", "a"), needing("queue"))
		queue := newGadget(ctx, namespace, "queue", configMap("queue", "a"), needing("db"))
		named := func(names ...string) string {
			return fmt.Sprintf("False DependencyCycle: spec.dependsOn: the component depends on a component that waits for "+
				"it: %[1]s/%[2]s depends on %[1]s/%[3]s depends on %[1]s/%[2]s", namespace, names[0], names[1])
		}
		expectCondition(ctx, db, metav1alpha1.ConditionReady, named("db", "queue"))
		expectCondition(ctx, queue, metav1alpha1.ConditionReady, named("queue", "db"))
		expectWaits(ctx, web, namespace+"/db", "it is not Ready")
		Expect(current(ctx, db).Status.State).To(Equal(metav1alpha1.StateStalled))
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
		change(ctx, queue, needing())
		for _, g := range []*gadget.Gadget{queue, db, web} {
			expectReady(ctx, g)
		}
	})

	It("the message about a cycle leaves out names that the identity of the component may not "+
		"read", func(ctx SpecContext) {
		web := newGadget(ctx, namespace, "web", configMap("web", "a"), needing("db"), asServiceAccount("nobody"))
		newGadget(ctx, namespace, "db", configMap("db", "a"), needing("web"))
		expectCondition(ctx, web, metav1alpha1.ConditionReady, And(
			HavePrefix("False DependencyCycle: "), Not(ContainSubstring(namespace+"/db")),
			ContainSubstring("depends on (a component that the identity of web cannot read) depends on "+namespace+"/web")))
	})

	It("a component that allows no other namespace cannot be told from one that does not exist", func(ctx SpecContext) {
		infra := newNamespace(ctx)
		const text = "it does not exist, or its allowDependents does not list the namespace "
		web := newGadget(ctx, namespace, "web", configMap("web", "a"), needing(infra+"/mesh"))
		expectWaits(ctx, web, infra+"/mesh", text+namespace)
		settle(ctx, operatorName)
		before := current(ctx, web)
		mesh := newGadget(ctx, infra, "mesh", heldDeployment("mesh"))
		expectCondition(ctx, mesh, metav1alpha1.ConditionReady, "False DependentsNotReady")
		changeManifests(ctx, mesh, configMap("mesh", "a"))
		expectReady(ctx, mesh)
		requestPass(ctx, mesh, operatorName)
		settle(ctx, operatorName)
		Expect(current(ctx, web).ResourceVersion).
			To(Equal(before.ResourceVersion), "its status says nothing about the other")

		change(ctx, mesh, allowing(namespace))
		expectReady(ctx, web)
		change(ctx, mesh, allowing())
		expectReady(ctx, mesh)
		Expect(condition(current(ctx, web), metav1alpha1.ConditionReady)).To(HavePrefix("True Ready"),
			"what is applied waits for nobody")
		changeManifests(ctx, web, configMap("web", "b"))
		expectWaits(ctx, web, infra+"/mesh", text+namespace)
		Expect(valueOf(ctx, namespace, "web")()).To(Equal("a"))
		change(ctx, mesh, allowing(namespace))
		expectReady(ctx, web)
		Expect(valueOf(ctx, namespace, "web")()).To(Equal("b"))
		remove(ctx, web)
		expectNotFound(ctx, web)
		remove(ctx, mesh)
		expectNotFound(ctx, mesh)
	})
})
