package conformance_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/test/gadget"
)

var _ = Describe("Components whose finalizer was removed by hand:", func() {
	// ready creates a component and waits until it is ready. The component has a Secret with a kubeconfig that leads to
	// the component's own cluster, and a record of deletion phases. Both Secrets have the operator's finalizer.
	ready := func(ctx context.Context, namespace, operator string) *gadget.Gadget {
		GinkgoHelper()
		keepOwnKubeconfig(ctx, namespace)
		g := newGadget(ctx, namespace, "app", together(configMap("settings", "a"), oneJob("clean", preDelete(operator))),
			inCluster("near"), servedBy(operator))
		expectReady(ctx, g)
		Expect(records(ctx, namespace)).To(HaveLen(1))
		Expect(mustGet(ctx, "v1", "Secret", namespace, "near").GetFinalizers()).To(HaveLen(1))
		return g
	}
	// strip deletes a component, and removes all of its finalizers before the operator can do anything. giveUp also waits
	// until the component no longer exists.
	strip := func(ctx context.Context, g *gadget.Gadget) {
		GinkgoHelper()
		change(ctx, g, func(g *gadget.Gadget) { g.Finalizers = append(g.Finalizers, "example.com/hold") })
		remove(ctx, g)
		letGo(ctx, g)
	}
	giveUp := func(ctx context.Context, g *gadget.Gadget) {
		GinkgoHelper()
		strip(ctx, g)
		expectNotFound(ctx, g)
	}
	expectLetGo := func(ctx context.Context, namespace string) {
		GinkgoHelper()
		Eventually(ctx, func() []corev1.Secret { return records(ctx, namespace) }).Should(BeEmpty())
		Eventually(ctx, func() []string { return mustGet(ctx, "v1", "Secret", namespace, "near").GetFinalizers() }).
			Should(BeEmpty())
		Expect(mustGet(ctx, "v1", "Secret", namespace, "near").GetLabels()).To(BeEmpty())
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "settings").GetDeletionTimestamp()).To(BeNil())
	}

	It("if a component is deleted after its finalizer was removed, its dependents stay, and the operator removes its "+
		"finalizers from the component's Secrets", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{})
		giveUp(ctx, ready(ctx, namespace, operator))
		expectLetGo(ctx, namespace)
	})

	It("if a component without its finalizer is deleted while no operator runs, the next operator removes the finalizers "+
		"from the component's Secrets, and changes no Secrets of other components", func(ctx SpecContext) {
		namespace, other, operator := newNamespace(ctx), newNamespace(ctx), newOperatorName()
		stop := runOperator(operator, operatorOptions{})
		g := ready(ctx, namespace, operator)
		kept := ready(ctx, other, operator)
		before := append(records(ctx, other), ownKubeconfig(ctx, other))
		stop()
		giveUp(ctx, g)
		runOperator(operator, operatorOptions{})
		expectLetGo(ctx, namespace)
		requestPass(ctx, kept, operator)
		settle(ctx, operator)
		Expect(append(records(ctx, other), ownKubeconfig(ctx, other))).To(Equal(before))
	})

	It("a new component with the name of a component that was deleted without its finalizer inherits no "+
		"finalizers on Secrets", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{})
		giveUp(ctx, ready(ctx, namespace, operator))
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		expectLetGo(ctx, namespace)
	})

	DescribeTable("a component that is created again, and finds all its dependents unchanged, gets its finalizer, so "+
		"that its deletion deletes them",
		func(ctx SpecContext, more ...func(*gadget.Gadget)) {
			namespace, operator := newNamespace(ctx), newOperatorName()
			runOperator(operator, operatorOptions{})
			keepOwnKubeconfig(ctx, namespace)
			more = append(more, servedBy(operator))
			manifests := together(configMap("one", "a"), configMap("two", "a"))
			g := newGadget(ctx, namespace, "app", manifests, more...)
			expectReady(ctx, g)
			giveUp(ctx, g)
			Expect(countConfigMaps(ctx, namespace)).To(Equal(2))
			again := newGadget(ctx, namespace, "app", manifests, more...)
			expectReady(ctx, again)
			Expect(current(ctx, again).Finalizers).To(HaveLen(1))
			remove(ctx, again)
			expectNotFound(ctx, again)
			Expect(countConfigMaps(ctx, namespace)).To(BeZero())
		},
		Entry("in its own cluster"),
		Entry("through a kubeconfig", inCluster("near")),
	)

	It("if a component is deleted and created again before the operator notices the deletion, no finalizer of the "+
		"deleted component stays on Secrets", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		asks := &intruder{method: http.MethodGet, path: "/" + namespace + "/gadgets/app"}
		runOperator(operator, operatorOptions{transport: asks.wrap})
		g := ready(ctx, namespace, operator)
		served := maps.Clone(g.Labels)
		asks.arm(0, func() {
			defer GinkgoRecover()
			Eventually(ctx, func() error {
				return k8s.Create(ctx, &gadget.Gadget{
					ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "app", Labels: served},
					Spec:       gadget.GadgetSpec{Manifests: configMap("settings", "a")},
				})
			}).Should(Succeed())
		})
		strip(ctx, g)
		Eventually(ctx, func() (types.UID, error) {
			found := &gadget.Gadget{}
			err := k8s.Get(ctx, client.ObjectKeyFromObject(g), found)
			return found.UID, err
		}).ShouldNot(Equal(g.UID))
		expectReady(ctx, g)
		expectLetGo(ctx, namespace)
	})

	It("a Secret with a record that was restored from a backup of another cluster loses its finalizer when the "+
		"Secret is deleted", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{})
		ready(ctx, namespace, operator)
		counts := records(ctx, namespace)[0]
		owner, ok := manifests.ParseOwner(counts.Annotations[operator+"/record-of"])
		Expect(ok).To(BeTrue())
		owner.Cluster = "elsewhere"
		brought := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "phases-" + owner.ID() + "-0123456789abcdef-0", Finalizers: counts.Finalizers,
			Labels:      map[string]string{operator + "/record-of": owner.ID(), operator + "/held": "true"},
			Annotations: map[string]string{operator + "/record-of": owner.String()},
		}}
		Expect(k8s.Create(ctx, brought)).To(Succeed())
		remove(ctx, brought)
		Eventually(ctx, func() []corev1.Secret { return records(ctx, namespace) }).
			Should(ConsistOf(HaveField("Name", counts.Name)))
	})

	It("if the label selector of the operator no longer selects an existing component, the Secrets with the component's "+
		"records keep their finalizers", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{})
		g := ready(ctx, namespace, operator)
		before := passes(operator)
		change(ctx, g, servedBy("nobody.test.fairlead.io"))
		Eventually(ctx, func() int { return passes(operator) }).Should(BeNumerically(">", before))
		settle(ctx, operator)
		Expect(records(ctx, namespace)).To(HaveLen(1))
		Expect(ownKubeconfig(ctx, namespace).Finalizers).To(HaveLen(1))
		change(ctx, g, servedBy(operator))
		remove(ctx, g)
		expectNotFound(ctx, g)
	})
})

var _ = Describe("Deletions through a kubeconfig that are interrupted at the end:", func() {
	for resource, writes := range map[string][]int64{"configmaps": {1}, "gadgets": {1, 2, 3}, "secrets": {1}} {
		for _, after := range writes {
			It(fmt.Sprintf("a deletion whose Secret with the kubeconfig was deleted continues if the operator crashed after %d "+
				"writes to %s", after, resource), func(ctx SpecContext) {
				namespace, operator := newNamespace(ctx), newOperatorName()
				keepOwnKubeconfig(ctx, namespace)
				stop := runOperator(operator, operatorOptions{})
				g := newGadget(ctx, namespace, "app", configMap("settings", "a"), inCluster("near"), servedBy(operator))
				expectReady(ctx, g)
				stop()
				// The Secret has no other finalizer. So the Secret is deleted as soon as the operator removes its
				// finalizer.
				near := ownKubeconfig(ctx, namespace)
				remove(ctx, &near)
				remove(ctx, g)
				c := &crash{counts: writesTo(namespace, resource), after: after, unanswered: true}
				stop = runOperator(operator, operatorOptions{transport: c.wrap})
				Eventually(ctx, func() bool { return c.crashed.Load() || isAbsent(ctx, g) }).Should(BeTrue())
				stop()
				runOperator(operator, operatorOptions{})
				expectNotFound(ctx, g)
				expectNotFound(ctx, &near)
				Expect(countConfigMaps(ctx, namespace)).To(BeZero())
			})
		}
	}
})

// keepOwnKubeconfig creates a Secret with a kubeconfig that leads to the component's own cluster.
func keepOwnKubeconfig(ctx context.Context, namespace string) {
	GinkgoHelper()
	kubeconfig, err := os.ReadFile(cluster.Kubeconfig())
	Expect(err).NotTo(HaveOccurred())
	near := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "near"},
		Data:       map[string][]byte{"value": kubeconfig},
	}
	Expect(k8s.Create(ctx, near)).To(Succeed())
}

// ownKubeconfig reads the Secret that keepOwnKubeconfig created.
func ownKubeconfig(ctx context.Context, namespace string) corev1.Secret {
	GinkgoHelper()
	var secret corev1.Secret
	Expect(k8s.Get(ctx, types.NamespacedName{Namespace: namespace, Name: "near"}, &secret)).To(Succeed())
	return secret
}
