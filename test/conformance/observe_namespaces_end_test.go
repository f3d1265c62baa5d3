package conformance_test

import (
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

var _ = Describe("An operator that watches some namespaces:", func() {
	var t *twoNamespaces
	BeforeEach(func(ctx SpecContext) { t = newTwoNamespaces(ctx) })

	It("a component is deleted with its namespace, although the operator's rights in the namespace are "+
		"deleted first", func(ctx SpecContext) {
		t.admit(ctx, t.here, t.there)
		cutter := &scissors{}
		o := t.options()
		o.transport = cutter.wrap
		runOperator(t.operator, o)
		g := newGadget(ctx, t.here, "app", together(configMap("near", "a"), configMapIn(t.there, "far", "a")),
			servedBy(t.operator), retrySoon)
		other := newGadget(ctx, t.there, "other", configMap("settings", "a"), servedBy(t.operator))
		expectReady(ctx, g)
		expectReady(ctx, other)
		// The namespace controller may delete the operator's rights first.
		withdraw(ctx, t.here, "operator")
		remove(ctx, g)
		remove(ctx, mustGet(ctx, "v1", "Namespace", "", t.here))
		cutter.cut()
		expectNotFound(ctx, g)
		expectNotFound(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.here}})
		Expect(countConfigMaps(ctx, t.there)).To(Equal(1),
			"in the other namespace, the dependent must be deleted and the object of another owner must remain")

		By("reconciling components in the namespace when the namespace is created again")
		Expect(k8s.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.here}})).To(Succeed())
		t.admit(ctx, t.here)
		expectReady(ctx, newGadget(ctx, t.here, "app", configMap("near", "a"), servedBy(t.operator)))
	})

	It("a component is deleted with its namespace, although the operator starts after its rights in the "+
		"namespace are deleted", func(ctx SpecContext) {
		permit(ctx, "", t.operator+"-starts", t.operator, documented("fairlead-operator-somewhere")...)
		t.admit(ctx, t.here, t.there)
		stop := runOperator(t.operator, t.options())
		g := newGadget(ctx, t.here, "app", together(configMap("near", "a"), configMapIn(t.there, "far", "a")),
			servedBy(t.operator), retrySoon)
		expectReady(ctx, g)
		stop()
		remove(ctx, mustGet(ctx, "v1", "Namespace", "", t.here))
		Eventually(ctx, func() error {
			_, err := get(ctx, "rbac.authorization.k8s.io/v1", "RoleBinding", t.here, "operator")
			return err
		}).Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
		runOperator(t.operator, t.options())
		expectNotFound(ctx, g)
		expectNotFound(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.here}})
		Expect(countConfigMaps(ctx, t.there)).To(BeZero())
	})

	It("a component with a record in a Secret can be deleted with its namespace, because an operator with rights in "+
		"single namespaces adds no finalizer to the Secret", func(ctx SpecContext) {
		t.admit(ctx, t.here, t.there)
		permit(ctx, t.here, "records", t.operator, "'' | secrets | get, create, patch, delete")
		cutter := &scissors{}
		o := t.options()
		o.transport = cutter.wrap
		runOperator(t.operator, o)
		last := strings.Replace(configMap("last", "a", postDelete(t.operator)), "name: last",
			"name: last\n  namespace: "+t.there, 1)
		g := newGadget(ctx, t.here, "app", together(configMap("near", "a"), configMapIn(t.there, "far", "a"), last),
			servedBy(t.operator), retrySoon)
		expectReady(ctx, g)
		Expect(records(ctx, t.here)).To(And(HaveLen(1), HaveEach(HaveField("Finalizers", BeEmpty()))))
		// The namespace controller may delete the operator's rights first.
		withdraw(ctx, t.here, "operator")
		withdraw(ctx, t.here, "records")
		remove(ctx, g)
		remove(ctx, mustGet(ctx, "v1", "Namespace", "", t.here))
		cutter.cut()
		expectNotFound(ctx, g)
		expectNotFound(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.here}})
		Expect(countConfigMaps(ctx, t.there)).To(BeZero())
	})

	It("if the Secret with a large inventory cannot be read because its namespace is being deleted, dependents in other "+
		"namespaces are still found and deleted", func(ctx SpecContext) {
		t.admit(ctx, t.here, t.there)
		permit(ctx, t.here, "serve", t.operator,
			slices.DeleteFunc(documented("fairlead-operator"), func(rule string) bool {
				return strings.Contains(rule,
					"'' ")
			})...)
		permit(ctx, t.here, "records", t.operator, "'' | secrets | get, create, patch, delete")
		o := t.options()
		o.component.Limits.StatusInventory = -1
		stop := runOperator(t.operator, o)
		g := newGadget(ctx, t.here, "app", together(configMap("near", "a"), configMapIn(t.there, "far", "a")),
			servedBy(t.operator), retrySoon)
		expectReady(ctx, g)
		Eventually(ctx, func() []corev1.Secret { return inventories(ctx, t.here) }).Should(
			And(HaveLen(1), HaveEach(HaveField("Finalizers", BeEmpty()))),
			"the previous inventory is deleted after the status is written")
		stop()
		withdraw(ctx, t.here, "operator")
		withdraw(ctx, t.here, "records")
		runOperator(t.operator, o)
		expectCondition(ctx, g, metav1alpha1.ConditionReady,
			And(HavePrefix("False Retrying"), ContainSubstring(`cannot get resource "secrets"`)))
		remove(ctx, mustGet(ctx, "v1", "Namespace", "", t.here))
		expectNotFound(ctx, g)
		expectNotFound(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.here}})
		Expect(countConfigMaps(ctx, t.there)).To(BeZero())
	})
})
