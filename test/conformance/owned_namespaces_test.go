package conformance_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

var _ = Describe("Owned namespaces:", func() {
	var home, inner string
	BeforeEach(func(ctx SpecContext) {
		home = newNamespace(ctx)
		inner = home + "-inner"
	})
	own := func(g *gadget.Gadget) { g.Spec.Policies.MissingNamespaces = metav1alpha1.MissingNamespacesOwn }
	setPolicy := func(ctx context.Context, g *gadget.Gadget, policy metav1alpha1.MissingNamespacesPolicy) {
		GinkgoHelper()
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Policies.MissingNamespaces = policy })
	}
	expectGone := func(ctx context.Context, name string) {
		GinkgoHelper()
		Eventually(ctx, func() error {
			_, err := get(ctx, "v1", "Namespace", "", name)
			return err
		}).Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
	}
	// expectKept waits until a namespace has no marks of the operator, and checks that it is not being deleted.
	expectKept := func(ctx context.Context, name string) {
		GinkgoHelper()
		Eventually(ctx, func() map[string]string { return mustGet(ctx, "v1", "Namespace", "", name).GetLabels() }).
			ShouldNot(HaveKey(operatorName + "/owner-id"))
		Expect(mustGet(ctx, "v1", "Namespace", "", name).GetDeletionTimestamp()).To(BeNil())
	}
	recorded := func(ctx context.Context, g *gadget.Gadget) string {
		return strings.Join(current(ctx, g).Status.Inventory, "\n")
	}

	forEachPolicy(func(policy string) {
		It("a namespace that was created for a component is deleted with it, after its dependents", func(ctx SpecContext) {
			g := newGadget(ctx, home, "app", within(inner, configMaps("cm", 3, "a", updatePolicy(policy), order(-2))), own)
			expectReady(ctx, g)
			Expect(mustGet(ctx, "v1", "Namespace", "", inner).GetLabels()).To(HaveKey(operatorName + "/owner-id"))
			Expect(recorded(ctx, g)).To(ContainSubstring("/v1/Namespace//" + inner + " "))
			mark := markAudit(ctx)
			remove(ctx, g)
			expectNotFound(ctx, g)
			expectGone(ctx, inner)
			deletions := requestsSince(ctx, mark, operatorName).Resource("namespaces").
				Where(func(e testcluster.Event) bool { return e.Verb == "delete" })
			Expect(verbs(deletions)).To(Equal([]string{"delete namespaces 200"}), "the namespace is deleted once")
		})
	})

	It("an owned namespace is deleted when an update leaves no dependent in it, and created again", func(ctx SpecContext) {
		inside, outside := within(inner, configMap("settings", "a")), configMap("sibling", "a")
		g := newGadget(ctx, home, "app", together(inside, outside), own)
		expectReady(ctx, g)
		changeManifests(ctx, g, outside)
		expectGone(ctx, inner)
		expectReady(ctx, g)
		Expect(recorded(ctx, g)).NotTo(ContainSubstring(inner))
		changeManifests(ctx, g, together(inside, outside))
		expectReady(ctx, g)
		mustGet(ctx, "v1", "ConfigMap", inner, "settings")
	})

	It("an owned namespace with objects of others is kept without marks, and blocks no deletion", func(ctx SpecContext) {
		g := newGadget(ctx, home, "app", within(inner, configMap("settings", "a")), own)
		expectReady(ctx, g)
		create(ctx, within(inner, configMap("theirs", "a")))
		remove(ctx, g)
		expectNotFound(ctx, g)
		expectKept(ctx, inner)
		mustGet(ctx, "v1", "ConfigMap", inner, "theirs")
	})

	It("an owned namespace with dependents of another component is kept for it", func(ctx SpecContext) {
		g := newGadget(ctx, home, "app", within(inner, configMap("settings", "a")), own)
		expectReady(ctx, g)
		other := newGadget(ctx, home, "other", within(inner, configMap("theirs", "a")), own)
		expectReady(ctx, other)
		Expect(recorded(ctx, other)).NotTo(ContainSubstring("/v1/Namespace/"), "it did not create the namespace")
		remove(ctx, g)
		expectNotFound(ctx, g)
		expectKept(ctx, inner)
		expectReady(ctx, other)
		remove(ctx, other)
		expectNotFound(ctx, other)
		expectKept(ctx, inner)
	})

	It("an owned namespace that existed before, or that others changed, is never deleted", func(ctx SpecContext) {
		create(ctx, namespaceManifest(inner))
		before := newGadget(ctx, home, "before", within(inner, configMap("settings", "a")), own)
		changed := newGadget(ctx, home, "changed", within(inner+"-changed", configMap("settings", "a")), own)
		expectReady(ctx, before)
		expectReady(ctx, changed)
		patch(ctx, mustGet(ctx, "v1", "Namespace", "", inner+"-changed"), `{"metadata":{"labels":{"team":"blue"}}}`)
		for _, g := range []*gadget.Gadget{before, changed} {
			remove(ctx, g)
			expectNotFound(ctx, g)
		}
		expectKept(ctx, inner)
		expectKept(ctx, inner+"-changed")
	})

	It("an owned namespace is released when the policy changes, and is not owned again", func(ctx SpecContext) {
		g := newGadget(ctx, home, "app", within(inner, configMap("settings", "a")), own)
		expectReady(ctx, g)
		setPolicy(ctx, g, metav1alpha1.MissingNamespacesCreate)
		expectKept(ctx, inner)
		setPolicy(ctx, g, metav1alpha1.MissingNamespacesOwn)
		expectReady(ctx, g)
		remove(ctx, g)
		expectNotFound(ctx, g)
		expectKept(ctx, inner)
	})

	It("an owned namespace whose label somebody removed is kept", func(ctx SpecContext) {
		g := newGadget(ctx, home, "app", within(inner, configMap("settings", "a")), own)
		expectReady(ctx, g)
		patch(ctx, mustGet(ctx, "v1", "Namespace", "", inner), `{"metadata":{"labels":{"`+operatorName+`/owner-id":null}}}`)
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(mustGet(ctx, "v1", "Namespace", "", inner).GetDeletionTimestamp()).To(BeNil())
	})

	It("an owned namespace that is rendered later is a dependent", func(ctx SpecContext) {
		inside := within(inner, configMap("settings", "a"))
		g := newGadget(ctx, home, "app", inside, own)
		expectReady(ctx, g)
		before := mustGet(ctx, "v1", "Namespace", "", inner).GetUID()
		changeManifests(ctx, g, together(namespaceManifest(inner), inside))
		expectReady(ctx, g)
		after := mustGet(ctx, "v1", "Namespace", "", inner)
		Expect(after.GetUID()).To(Equal(before))
		Expect(after.GetAnnotations()).NotTo(HaveKey(operatorName + "/delete-policy"))
		Expect(recorded(ctx, g)).NotTo(ContainSubstring(string(metav1alpha1.DeleteIfEmpty)))
	})

	It("an owned namespace is found again after the inventory was lost", func(ctx SpecContext) {
		g := newGadget(ctx, home, "app", within(inner, configMap("settings", "a")), own)
		expectReady(ctx, g)
		loseStatus(ctx, g)
		Eventually(ctx, func() string { return recorded(ctx, g) }).Should(ContainSubstring("dp=if-empty"))
		remove(ctx, g)
		expectNotFound(ctx, g)
		expectGone(ctx, inner)
	})
})
