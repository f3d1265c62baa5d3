package conformance_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
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
	// owner returns a gadget that owns a namespace, with a ConfigMap in it.
	owner := func(ctx context.Context, namespace string) *gadget.Gadget {
		GinkgoHelper()
		g := newGadget(ctx, home, "app", within(namespace, configMap("settings", "a")), own)
		expectReady(ctx, g)
		Expect(mustGet(ctx, "v1", "Namespace", "", namespace).GetLabels()).To(HaveKey(operatorName + "/owner-id"))
		return g
	}
	createsNamespace := func(r *http.Request) bool {
		return r.Method == http.MethodPost && r.URL.Path == "/api/v1/namespaces"
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
			Expect(story(ctx, mark, operatorName, inner)).
				To(Equal([]string{"delete configmaps/cm-0", "delete namespaces/" + inner}))
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
		g := owner(ctx, inner)
		create(ctx, within(inner, configMap("theirs", "a")))
		remove(ctx, g)
		expectNotFound(ctx, g)
		expectKept(ctx, inner)
		mustGet(ctx, "v1", "ConfigMap", inner, "theirs")
	})

	It("an owned namespace with dependents of another component is kept for it", func(ctx SpecContext) {
		g := owner(ctx, inner)
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
		expectReady(ctx, before)
		changed := owner(ctx, inner+"-changed")
		patch(ctx, mustGet(ctx, "v1", "Namespace", "", inner+"-changed"), `{"metadata":{"labels":{"team":"blue"}}}`)
		for _, g := range []*gadget.Gadget{before, changed} {
			remove(ctx, g)
			expectNotFound(ctx, g)
		}
		expectKept(ctx, inner)
		expectKept(ctx, inner+"-changed")
	})

	It("an owned namespace is released when the policy changes, and is not owned again", func(ctx SpecContext) {
		g := owner(ctx, inner)
		setPolicy(ctx, g, metav1alpha1.MissingNamespacesCreate)
		expectKept(ctx, inner)
		setPolicy(ctx, g, metav1alpha1.MissingNamespacesOwn)
		expectReady(ctx, g)
		remove(ctx, g)
		expectNotFound(ctx, g)
		expectKept(ctx, inner)
	})

	It("an owned namespace whose label somebody removed is kept", func(ctx SpecContext) {
		g := owner(ctx, inner)
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
		g := owner(ctx, inner)
		loseStatus(ctx, g)
		Eventually(ctx, func() string { return recorded(ctx, g) }).Should(ContainSubstring("dp=if-empty"))
		remove(ctx, g)
		expectNotFound(ctx, g)
		expectGone(ctx, inner)
	})

	It("an owned namespace stays until the objects of post-delete in it have run", func(ctx SpecContext) {
		farewell := configMap("farewell", "a", postDelete(operatorName))
		g := newGadget(ctx, home, "app",
			together(within(inner, configMap("settings", "a")), within(inner, farewell)), own)
		expectReady(ctx, g)
		mark := markAudit(ctx)
		remove(ctx, g)
		expectNotFound(ctx, g)
		expectGone(ctx, inner)
		Expect(story(ctx, mark, operatorName, inner)).To(Equal([]string{
			"delete configmaps/settings", "patch configmaps/farewell", "delete configmaps/farewell",
			"delete namespaces/" + inner,
		}))
	})

	It("an owned namespace that two components need at once belongs to one of them", func(ctx SpecContext) {
		var gadgets []*gadget.Gadget
		for _, name := range []string{"blue", "red"} {
			gadgets = append(gadgets, newGadget(ctx, home, name, within(inner, configMap(name, "a")), own))
		}
		for _, g := range gadgets {
			expectReady(ctx, g)
		}
		owns := func(g *gadget.Gadget) bool { return strings.Contains(recorded(ctx, g), "/v1/Namespace//"+inner+" ") }
		i := slices.IndexFunc(gadgets, owns)
		Expect(i).To(BeNumerically(">=", 0), "none of the components owns the namespace")
		other := gadgets[1-i]
		Expect(owns(other)).To(BeFalse(), "both components own the namespace")
		remove(ctx, other)
		expectNotFound(ctx, other)
		Expect(mustGet(ctx, "v1", "Namespace", "", inner).GetLabels()).To(HaveKey(operatorName + "/owner-id"))
		remove(ctx, gadgets[i])
		expectNotFound(ctx, gadgets[i])
		expectGone(ctx, inner)
	})

	It("an owned namespace that somebody else creates at the same moment belongs to nobody", func(ctx SpecContext) {
		operator := newOperatorName()
		var once sync.Once
		runOperator(operator, operatorOptions{transport: func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				if createsNamespace(r) {
					defer GinkgoRecover()
					once.Do(func() {
						theirs := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: inner}}
						Expect(k8s.Create(r.Context(), theirs)).To(Succeed())
					})
				}
				return next.RoundTrip(r)
			})
		}})
		g := newGadget(ctx, home, "app", within(inner, configMap("settings", "a")), servedBy(operator), own)
		expectReady(ctx, g)
		Expect(verbs(requestsSince(ctx, 0, operator).Resource("namespaces"))).
			To(ContainElement("create namespaces 409"), "the operator did not lose the race")
		Expect(recorded(ctx, g)).NotTo(ContainSubstring("/v1/Namespace/"))
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(mustGet(ctx, "v1", "Namespace", "", inner).GetDeletionTimestamp()).To(BeNil())
	})

	It("an owned namespace is recorded before it is created, and is never deleted if somebody else creates it after "+
		"a crash", func(ctx SpecContext) {
		operator := newOperatorName()
		g := newGadget(ctx, home, "app", within(inner, configMap("settings", "a")), servedBy(operator), own)
		runUntilCrash(ctx, operator, operatorOptions{}, &crash{counts: createsNamespace})
		Expect(recorded(ctx, g)).To(ContainSubstring("/v1/Namespace//" + inner + " dp=if-empty"))
		create(ctx, namespaceManifest(inner))
		runOperator(operator, operatorOptions{})
		expectReady(ctx, g)
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(mustGet(ctx, "v1", "Namespace", "", inner).GetDeletionTimestamp()).To(BeNil())
	})

	It("an owned namespace whose creation got no answer because of a crash is deleted with its "+
		"component", func(ctx SpecContext) {
		operator := newOperatorName()
		g := newGadget(ctx, home, "app", within(inner, configMap("settings", "a")), servedBy(operator), own)
		runUntilCrash(ctx, operator, operatorOptions{}, &crash{counts: createsNamespace, after: 1, unanswered: true})
		mustGet(ctx, "v1", "Namespace", "", inner)
		runOperator(operator, operatorOptions{})
		expectReady(ctx, g)
		remove(ctx, g)
		expectNotFound(ctx, g)
		expectGone(ctx, inner)
	})

	It("an owned namespace whose creation is refused is not recorded, and blocks no deletion", func(ctx SpecContext) {
		operator := newOperatorName()
		refused := &refusal{method: http.MethodPost, path: "/namespaces"}
		refused.on.Store(true)
		unread := &refusal{method: http.MethodGet, path: "/namespaces/" + inner}
		unread.on.Store(true)
		runOperator(operator, operatorOptions{transport: func(next http.RoundTripper) http.RoundTripper {
			return refused.wrap(unread.wrap(next))
		}})
		g := newGadget(ctx, home, "app", within(inner, configMap("settings", "a")), servedBy(operator), own)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, ContainSubstring("namespace "+inner+" does not exist"))
		Eventually(ctx, func() string { return recorded(ctx, g) }).ShouldNot(ContainSubstring("/v1/Namespace/"))
		create(ctx, namespaceManifest(inner))
		expectReady(ctx, g)
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(mustGet(ctx, "v1", "Namespace", "", inner).GetDeletionTimestamp()).To(BeNil())
	})
})
