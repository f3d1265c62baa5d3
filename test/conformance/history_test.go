package conformance_test

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
)

var _ = Describe("The history of a component:", func() {
	It("the history contains each revision with its outcome, and costs no additional write", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{})
		mark := markAudit(ctx)
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(requestsSince(ctx, mark, operator).Resource("gadgets").Verb("update")).To(HaveLen(2),
			"want two writes of the status: of the inventory before the first create, and of the outcome")
		first := current(ctx, g).Status
		Expect(first.History).To(HaveExactElements(And(
			HaveField("Revision", int64(1)), HaveField("Generation", int64(1)), HaveField("Digest", first.InputDigest),
			HaveField("Outcome", metav1alpha1.RevisionReady), HaveField("Ended", Not(BeNil())))))

		changeManifests(ctx, g, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {no key!: b}")
		Eventually(ctx, func() []metav1alpha1.RevisionRecord { return current(ctx, g).Status.History }).
			Should(HaveExactElements(
				And(HaveField("Revision", int64(2)), HaveField("Outcome", metav1alpha1.RevisionFailed),
					HaveField("Reason", metav1alpha1.ReasonInvalidManifests),
					HaveField("Ended", BeNil())),
				HaveField("Revision", int64(1))))

		changeManifests(ctx, g, configMap("settings", "c"))
		expectReady(ctx, g)
		Expect(current(ctx, g).Status.History).To(HaveExactElements(
			And(HaveField("Revision", int64(3)), HaveField("Outcome", metav1alpha1.RevisionReady)),
			And(HaveField("Revision", int64(2)), HaveField("Outcome", metav1alpha1.RevisionFailed),
				HaveField("Ended", Not(BeNil()))),
			HaveField("Revision", int64(1))))
	})

	It("inputs that fail to render have a single entry without a revision in the history, however often "+
		"they are retried", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{})
		text := configMap("settings", "a")
		g := newGadget(ctx, namespace, "app", text,
			servedBy(operator), func(g *gadget.Gadget) { g.Spec.RetryInterval = milliseconds(100) })
		expectReady(ctx, g)
		revisionOne := And(HaveField("Revision", int64(1)), HaveField("Outcome", metav1alpha1.RevisionReady))
		attempt := And(HaveField("Revision", int64(0)), HaveField("Generation", int64(2)),
			HaveField("Digest", Not(BeEmpty())),
			HaveField("Outcome", metav1alpha1.RevisionFailed), HaveField("Reason", metav1alpha1.ReasonInvalidManifests),
			HaveField("Ended", BeNil()))

		changeManifests(ctx, g, together(text, configMap("settings", "b")))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, "True InvalidManifests")
		stalled := current(ctx, g).Status
		Expect(stalled.Revision).To(Equal(int64(1)))
		Expect(stalled.History).To(HaveExactElements(attempt, revisionOne))
		mark, before := markAudit(ctx), passes(operator)
		Eventually(ctx, func() int { return passes(operator) - before }).Should(BeNumerically(">=", 3))
		Expect(verbs(requestsSince(ctx, mark, operator))).To(BeEmpty(), "retries must write nothing")
		Expect(current(ctx, g).Status).To(Equal(stalled))

		By("rendering the inputs of the applied revision again, which does not change the revision's entry in the history")
		changeManifests(ctx, g, text)
		expectReady(ctx, g)
		over := And(HaveField("Revision", int64(0)), HaveField("Generation", int64(2)), HaveField("Ended", Not(BeNil())))
		Expect(current(ctx, g).Status.History).To(HaveExactElements(over, revisionOne))

		By("rendering the failing inputs again, which adds an entry to the history")
		changeManifests(ctx, g, together(text, configMap("settings", "b")))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, "True InvalidManifests")
		again := And(HaveField("Revision", int64(0)), HaveField("Generation", int64(4)),
			HaveField("Digest", stalled.History[0].Digest), HaveField("Ended", BeNil()))
		Expect(current(ctx, g).Status.History).To(HaveExactElements(again, over, revisionOne))
		changeManifests(ctx, g, configMap("settings", "c"))
		expectReady(ctx, g)
		Expect(current(ctx, g).Status.History).To(HaveExactElements(
			And(HaveField("Revision", int64(2)), HaveField("Outcome", metav1alpha1.RevisionReady)), again, over, revisionOne))
	})

	It("the history contains the first revision, also if phase objects are recorded first, or if the first "+
		"rendering failed", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{})
		revisionOne := And(HaveField("Revision", int64(1)), HaveField("Outcome", metav1alpha1.RevisionReady),
			HaveField("Ended", Not(BeNil())))
		text := together(configMap("settings", "a"), oneJob("clean", preDelete(operator)))
		g := newGadget(ctx, namespace, "app", text, servedBy(operator))
		expectReady(ctx, g)
		Expect(current(ctx, g).Status.History).To(HaveExactElements(revisionOne))

		By("rendering the first inputs only at a second attempt")
		broken := newGadget(ctx, namespace, "broken", together(text, configMap("settings", "b")), servedBy(operator))
		expectCondition(ctx, broken, metav1alpha1.ConditionStalled, "True InvalidManifests")
		changeManifests(ctx, broken, strings.ReplaceAll(text, "settings", "others"))
		expectReady(ctx, broken)
		Expect(current(ctx, broken).Status.History).To(HaveExactElements(revisionOne, HaveField("Revision", int64(0))))
	})

	It("the history names the values that changed, and does not show values from Secrets", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{})
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "db"},
			StringData: map[string]string{"values.yaml": "user: root-of-all"},
		}
		Expect(k8s.Create(ctx, secret)).To(Succeed())
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator), func(g *gadget.Gadget) {
			g.Spec.References = []metav1alpha1.Reference{{Kind: metav1alpha1.SecretReference, Name: "db"}}
		})
		expectReady(ctx, g)
		changes := func() [][]string {
			var all [][]string
			for _, r := range current(ctx, g).Status.History {
				all = append(all, r.Changes)
			}
			return all
		}
		Expect(changes()).To(HaveExactElements(BeEmpty()))
		changeManifests(ctx, g, configMap("settings", "b"))
		expectReady(ctx, g)
		Expect(changes()).To(HaveExactElements([]string{"manifests: changed"}, BeEmpty()))
		secret.StringData = map[string]string{"values.yaml": "user: somebody-else"}
		Expect(k8s.Update(ctx, secret)).To(Succeed())
		Eventually(ctx, changes).Should(HaveExactElements([]string{"Secret db: user: changed"},
			[]string{"manifests: changed"}, BeEmpty()))
	})

	It("the outcome of a revision in the history does not change while new inputs are "+
		"not rendered", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", heldDeployment("web"), servedBy(operator))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, metav1alpha1.ReasonDependentsNotReady)
		change(ctx, g, func(g *gadget.Gadget) {
			g.Spec.References = []metav1alpha1.Reference{{Kind: metav1alpha1.SecretReference, Name: "none"}}
		})
		expectCondition(ctx, g, metav1alpha1.ConditionReady, metav1alpha1.ReasonReferenceNotFound)
		Expect(current(ctx, g).Status.History).To(HaveExactElements(HaveField("Outcome", metav1alpha1.RevisionProgressing)))
	})

	It("the history does not change by a restart or a request for a pass", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		stop := runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		before := current(ctx, g).Status
		stop()
		runOperator(operator, operatorOptions{})
		requestPass(ctx, g, operator)
		settle(ctx, operator)
		Expect(current(ctx, g).Status).To(Equal(before))
	})
})

var _ = Describe("The acknowledgement of requests for a pass:", func() {
	request := func(ctx SpecContext, operator, requested, acknowledge string, suspend bool) metav1alpha1.Status {
		g := newGadget(ctx, newNamespace(ctx), "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		before := passes(operator)
		patch(ctx, current(ctx, g),
			fmt.Sprintf(`{"metadata":{"annotations":{"%s/%s":"%s","%s/%s":"%s"}},"spec":{"suspend":%t}}`,
				operator, metav1alpha1.AnnotationReconcileRequested, requested, operator,
				metav1alpha1.AnnotationReconcileAcknowledge, acknowledge, suspend))
		Eventually(ctx, func() int { return passes(operator) }).Should(BeNumerically(">", before))
		settle(ctx, operator)
		return current(ctx, g).Status.Status
	}

	It("a request for a pass is acknowledged in the status if the client asks for it", func(ctx SpecContext) {
		operator := newOperatorName()
		runOperator(operator, operatorOptions{})
		Expect(request(ctx, operator, "now", "now", false).LastHandledReconcileAt).To(Equal("now"))
		Expect(request(ctx, operator, "now", "earlier", false).LastHandledReconcileAt).To(BeEmpty(),
			"the pass must not be acknowledged, because the annotation names another request")
		Expect(request(ctx, operator, "now", "now", true)).To(And(
			HaveField("LastHandledReconcileAt", "now"), HaveField("State", metav1alpha1.StateSuspended)),
			"a suspended component acknowledges the request too")
	})
})

var _ = Describe("Suspended components:", func() {
	It("the condition of a suspended component contains the reason in its annotation", func(ctx SpecContext) {
		operator := newOperatorName()
		runOperator(operator, operatorOptions{})
		g := newGadget(ctx, newNamespace(ctx), "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		patch(ctx, current(ctx, g),
			fmt.Sprintf(`{"metadata":{"annotations":{"%s/%s":"the database moves"}},"spec":{"suspend":true}}`,
				operator, metav1alpha1.AnnotationSuspendReason))
		expectCondition(ctx, g, metav1alpha1.ConditionReady,
			"Unknown Suspended: reconciling is suspended in the spec: the database moves")
	})
})
