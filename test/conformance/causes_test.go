package conformance_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// jobWithoutAccount renders a Job whose pods cannot be created.
func jobWithoutAccount(name string) string {
	return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: " + name + "}\n" +
		"spec: {template: {spec: {restartPolicy: Never, serviceAccountName: absent, containers: [{name: main, image: i}]}}}"
}

var _ = Describe("Causes of dependents that are not ready:", slow, func() {
	// eventReads returns the lists of events of an operator in a namespace.
	eventReads := func(ctx context.Context, mark auditMark, operator, namespace string) int {
		return len(inNamespace(auditEvents(ctx)[mark:].UserAgent(userAgent(operator)), namespace).Resource("events").
			Verb("list"))
	}
	messages := func(ctx context.Context, g *gadget.Gadget) func() []string {
		return func() []string {
			var all []string
			for _, w := range current(ctx, g).Status.Waiting {
				all = append(all, w.Message)
			}
			return all
		}
	}

	It("the cause is read once from the events of a dependent that is not ready for a while, and never if all are "+
		"ready in time", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		stop := runOperator(operator, operatorOptions{})
		mark := markAudit(ctx)
		ready := newGadget(ctx, namespace, "ready", configMap("settings", "a"), servedBy(operator))
		g := newGadget(ctx, namespace, "app", jobWithoutAccount("migrate"), servedBy(operator))
		expectReady(ctx, ready)
		expectCondition(ctx, g, metav1alpha1.ConditionReady, metav1alpha1.ReasonDependentsNotReady)
		Expect(eventReads(ctx, mark, operator, namespace)).To(BeZero())

		want := ConsistOf(MatchRegexp(`^not Complete yet; FailedCreate: .*serviceaccount "absent" not found`))
		Eventually(ctx, messages(ctx, g)).WithTimeout(time.Minute).Should(want)
		expectCondition(ctx, g, metav1alpha1.ConditionReady, `serviceaccount "absent" not found`)
		settle(ctx, operator)
		Expect(eventReads(ctx, mark, operator, namespace)).To(Equal(1))
		before, known := passes(operator), current(ctx, g).Status
		requestPass(ctx, g, operator)
		settle(ctx, operator)
		Expect(passes(operator)).To(BeNumerically(">", before))
		Expect(eventReads(ctx, mark, operator, namespace)).To(Equal(1),
			"the events must be read once, because the cause is known after the first read")
		Expect(current(ctx, g).Status).To(Equal(known))

		By("a restart, after which the status stays as it is")
		stop()
		runOperator(operator, operatorOptions{})
		requestPass(ctx, g, operator)
		settle(ctx, operator)
		Expect(messages(ctx, g)()).To(want)
	}, SpecTimeout(3*time.Minute))

	It("the status has no cause from events if the identity of the component has no right "+
		"to list events", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{})
		user := "without-events-" + namespace
		grant(ctx, namespace, "deployer", user, "jobs: get, list, create, patch, delete")
		mark := markAudit(ctx)
		g := newGadget(ctx, namespace, "app", jobWithoutAccount("migrate"),
			servedBy(operator), func(g *gadget.Gadget) { g.Spec.User = user })
		Eventually(ctx, func() int { return eventReads(ctx, mark, operator, namespace) }).WithTimeout(time.Minute).
			Should(Equal(1))
		settle(ctx, operator)
		Expect(messages(ctx, g)()).To(Equal([]string{"not Complete yet"}))
		Expect(eventReads(ctx, mark, operator, namespace)).To(Equal(1))
	}, SpecTimeout(3*time.Minute))

	It("the pods that use a claim are read once and named when its deletion waits for a while, or the command "+
		"that shows them", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{})
		listed := func(mark auditMark) int {
			return len(inNamespace(auditEvents(ctx)[mark:].UserAgent(userAgent(operator)), namespace).Resource("pods").
				Verb("list"))
		}
		claim := func(name string) string {
			return "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  name: " + name + "\n  annotations: {" +
				settingOf(operator, "delete-policy", "delete") +
				"}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}"
		}
		user := "without-pods-" + namespace
		grant(ctx, namespace, "deployer", user, "persistentvolumeclaims: get, list, watch, create, patch, delete")
		ours := newGadget(ctx, namespace, "ours", claim("ours"), servedBy(operator))
		theirs := newGadget(ctx, namespace, "theirs", claim("theirs"),
			servedBy(operator), func(g *gadget.Gadget) { g.Spec.User = user })
		for _, name := range []string{"ours", "theirs"} {
			Eventually(ctx, func() error { _, err := get(ctx, "v1", "PersistentVolumeClaim", namespace, name); return err }).
				Should(Succeed())
			hold(ctx, mustGet(ctx, "v1", "PersistentVolumeClaim", namespace, name))
		}
		pod := create(ctx, "apiVersion: v1\nkind: Pod\nmetadata: {name: writer, namespace: "+namespace+
			", finalizers: [example.com/hold]}\n"+
			"spec: {nodeName: nowhere, containers: [{name: a, image: a}], volumes: [{name: a, persistentVolumeClaim: "+
			"{claimName: ours}}]}")[0]
		mark := markAudit(ctx)
		remove(ctx, ours)
		remove(ctx, theirs)
		Eventually(ctx, messages(ctx, ours)).
			Should(ConsistOf(HavePrefix("it is being deleted; the deletion ends when other controllers")))
		Expect(listed(mark)).To(BeZero())

		Eventually(ctx, messages(ctx, ours)).WithTimeout(time.Minute).Should(ConsistOf(
			MatchRegexp(`^it is being deleted; .*; pods that use it: writer \((it is being deleted, )?node nowhere\)$`)))
		Eventually(ctx, messages(ctx, theirs)).WithTimeout(time.Minute).Should(ConsistOf(
			HaveSuffix("; kubectl get pods -o wide -n " + namespace + " shows whether there are pods that use it")))
		Expect(listed(mark)).To(Equal(2))
		requestPass(ctx, ours, operator)
		settle(ctx, operator)

		letGo(ctx, pod)
		for _, name := range []string{"ours", "theirs"} {
			letGo(ctx, mustGet(ctx, "v1", "PersistentVolumeClaim", namespace, name))
		}
		expectNotFound(ctx, ours)
		expectNotFound(ctx, theirs)
	}, SpecTimeout(3*time.Minute))
})
