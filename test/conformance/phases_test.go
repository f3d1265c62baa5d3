package conformance_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// oneJob renders a Job with one pod, which succeeds as soon as it runs on a node.
func oneJob(name string, settings ...string) string {
	return fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata: {annotations: {%s}, name: %s}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 0
      containers: [{name: main, image: "busybox:1"}]`, strings.Join(settings, ", "), name)
}

// oneJobFor renders a Job whose pod runs only on a node with the given label.
func oneJobFor(label, name string, settings ...string) string {
	return strings.Replace(oneJob(name, settings...), "restartPolicy",
		"nodeSelector: {"+label+": \"yes\"}\n      restartPolicy", 1)
}

// failJob waits for the pod of a Job, and makes the pod fail.
func failJob(ctx context.Context, namespace, name string) {
	GinkgoHelper()
	var pending []corev1.Pod
	Eventually(ctx, func() []corev1.Pod {
		pods := &corev1.PodList{}
		Expect(k8s.List(ctx, pods, client.InNamespace(namespace), client.MatchingLabels{"job-name": name})).To(Succeed())
		pending = slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool {
			return p.DeletionTimestamp != nil ||
				p.Status.Phase != corev1.PodPending
		})
		return pending
	}).Should(HaveLen(1))
	Expect(k8s.Status().Patch(ctx, &pending[0],
		client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"Failed"}}`)))).To(Succeed())
}

// labelNode adds a label to a node, so that Jobs of oneJobFor run there.
func labelNode(ctx context.Context, label string) {
	GinkgoHelper()
	nodes := &corev1.NodeList{}
	Expect(k8s.List(ctx, nodes)).To(Succeed())
	patch(ctx, &nodes.Items[0], fmt.Sprintf(`{"metadata":{"labels":{%q:"yes"}}}`, label))
}

func preDelete(operator string) string  { return operator + "/phase: pre-delete" }
func postDelete(operator string) string { return operator + "/phase: post-delete" }

// records returns the Secrets with the deletion phases of components in a namespace.
func records(ctx context.Context, namespace string) []corev1.Secret {
	GinkgoHelper()
	list := &corev1.SecretList{}
	Expect(k8s.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
	return slices.DeleteFunc(list.Items, func(s corev1.Secret) bool { return !strings.HasPrefix(s.Name, "phases-") })
}

// story returns an operator's successful writes to dependents in a namespace since a position in the audit log, in
// order.
func story(ctx context.Context, mark auditMark, operator, namespace string) []string {
	GinkgoHelper()
	var told []string
	for _, e := range succeeded(inNamespace(requestsSince(ctx, mark, operator), namespace).Writes()) {
		if e.Resource != "gadgets" {
			told = append(told, e.Verb+" "+e.Resource+"/"+e.Name)
		}
	}
	return told
}

var _ = Describe("The Secret with the objects of deletion phases:", func() {
	It("objects of deletion phases are stored in a Secret before the first apply, are not dependents, and cost no "+
		"further request", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", together(configMaps("cm", 10, "a"), oneJob("clean", preDelete(operator)),
			oneJob("tell", postDelete(operator))), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(current(ctx, g).Status.Dependents.Summary).To(Equal("10/10"))
		Expect(current(ctx, g).Status.Inventory).To(HaveLen(10))
		found := records(ctx, namespace)
		Expect(found).To(HaveLen(1))
		Expect(found[0].Finalizers).To(Equal([]string{operator + "/finalizer"}))
		Expect(found[0].Labels).NotTo(HaveKey(operator + "/owner-id"))
		Expect(found[0].OwnerReferences).To(BeEmpty())
		told := story(ctx, 0, operator, namespace)
		Expect(told[0]).To(Equal("patch secrets/" + found[0].Name))
		Expect(told[1:]).To(And(HaveLen(10), HaveEach(HavePrefix("patch configmaps/"))))
		requests := inNamespace(requestsSince(ctx, 0, operator), namespace).
			Where(func(e testcluster.Event) bool { return e.Resource != "secrets" })
		Expect(len(requests)).To(BeNumerically("<=", 14), "%v", verbs(requests))

		mark := markAudit(ctx)
		requestPass(ctx, g, operator)
		settle(ctx, operator)
		Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), namespace))).To(BeEmpty())
	})

	It("the Secret with the objects of deletion phases changes only when these objects change, and is deleted when no "+
		"such object is rendered", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", together(configMap("settings", "a"), oneJob("clean", preDelete(operatorName))))
		expectReady(ctx, g)
		first := records(ctx, namespace)
		Expect(first).To(HaveLen(1))
		changeManifests(ctx, g, together(configMap("settings", "b"), oneJob("clean", preDelete(operatorName))))
		expectReady(ctx, g)
		Expect(records(ctx, namespace)).To(Equal(first))
		changeManifests(ctx, g, together(configMap("settings", "b"), oneJob("wipe", preDelete(operatorName))))
		Eventually(ctx, func() []corev1.Secret { return records(ctx, namespace) }).Should(
			And(HaveLen(1), Not(ContainElement(HaveField("Name", first[0].Name)))))
		changeManifests(ctx, g, configMap("settings", "b"))
		Eventually(ctx, func() []corev1.Secret { return records(ctx, namespace) }).Should(BeEmpty())
		mark := markAudit(ctx)
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(story(ctx, mark, operatorName, namespace)).To(Equal([]string{"delete configmaps/settings"}))
	})

	It("a Secret with outdated objects of deletion phases is deleted by a later pass if its first "+
		"deletion fails", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		refused := &refusal{method: http.MethodDelete, code: http.StatusGatewayTimeout}
		runOperator(operator, operatorOptions{transport: refused.wrap})
		g := newGadget(ctx, namespace, "app", together(configMap("settings", "a"), oneJob("clean", preDelete(operator))),
			servedBy(operator))
		expectReady(ctx, g)
		previous := records(ctx, namespace)[0].Name
		refused.path = "/namespaces/" + namespace + "/secrets/" + previous
		refused.on.Store(true)
		changeManifests(ctx, g, together(configMap("settings", "a"), oneJob("wipe", preDelete(operator))))
		expectCondition(ctx, g, metav1alpha1.ConditionReady,
			And(HavePrefix("False Retrying"), ContainSubstring("a previous record")))
		refused.on.Store(false)
		expectReady(ctx, g)
		Expect(records(ctx, namespace)).To(And(HaveLen(1), Not(ContainElement(HaveField("Name", previous)))))
	})

	It("a Secret with outdated objects of deletion phases is deleted after a restart if the operator crashed before "+
		"the deletion", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		stop := runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", together(configMap("settings", "a"), oneJob("clean", preDelete(operator))),
			servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		stop()
		previous := records(ctx, namespace)[0].Name
		changeManifests(ctx, g, together(configMap("settings", "a"), oneJob("wipe", preDelete(operator))))
		runUntilCrash(ctx, operator, operatorOptions{}, &crash{counts: writesTo(namespace, "secrets"), after: 1})
		Expect(records(ctx, namespace)).To(HaveLen(2))
		runOperator(operator, operatorOptions{})
		Eventually(ctx, func() []corev1.Secret { return records(ctx, namespace) }).Should(
			And(HaveLen(1), Not(ContainElement(HaveField("Name", previous)))))
		expectReady(ctx, g)
	})

	It("many large objects of deletion phases are stored in several Secrets, and are read from all of them",
		slow, func(ctx SpecContext) {
			namespace, noise := newNamespace(ctx), make([]byte, 500<<10)
			source := rand.NewChaCha8([32]byte{})
			large := func(name string) string {
				_, _ = source.Read(noise)
				return configMap(name, base64.StdEncoding.EncodeToString(noise), preDelete(operatorName))
			}
			g := newGadget(ctx, namespace, "app", together(configMap("settings", "a"), large("one"), large("two")))
			expectReady(ctx, g)
			Expect(len(records(ctx, namespace))).To(BeNumerically(">", 1))
			mark := markAudit(ctx)
			remove(ctx, g)
			expectNotFound(ctx, g)
			Expect(story(ctx, mark, operatorName, namespace)).To(ContainElements("patch configmaps/one", "patch configmaps/two",
				"delete configmaps/one", "delete configmaps/two"))
			Expect(records(ctx, namespace)).To(BeEmpty())
		})
})

var _ = Describe("Deletions with phases:", func() {
	It("a deletion applies the phase pre-delete, deletes the dependents, applies the phase post-delete, renders nothing, "+
		"and leaves no objects", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", together(
			configMap("settings", "a"), deployment("web"),
			configMap("input", "a", preDelete(operatorName), order(-1)), oneJob("clean", preDelete(operatorName)),
			oneJob("tell", postDelete(operatorName)),
		))
		expectReady(ctx, g)
		changeManifests(ctx, g, "rubbish: [")
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, "GenerateFailed")
		mark := markAudit(ctx)
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(records(ctx, namespace)).To(BeEmpty())
		told := slices.DeleteFunc(story(ctx, mark, operatorName, namespace), func(s string) bool {
			return strings.Contains(s,
				" secrets/")
		})
		Expect(told[:2]).To(Equal([]string{"patch configmaps/input", "patch jobs/clean"}))
		Expect(told[2:4]).To(ConsistOf("delete deployments/web", "delete jobs/clean"))
		Expect(told[4:6]).To(ConsistOf("delete configmaps/input", "delete configmaps/settings"))
		Expect(told[6:]).To(Equal([]string{"patch jobs/tell", "delete jobs/tell"}))
	})

	for _, phase := range []string{"pre-delete", "post-delete"} {
		It("the phase "+phase+
			" takes over no object of somebody else, also if the component has no list, and deletes it only if the "+
			"component lists it", func(ctx SpecContext) {
			namespace := newNamespace(ctx)
			g := newGadget(ctx, namespace, "app", together(
				configMap("settings", "a"), configMap("input", "ours", operatorName+"/phase: "+phase)))
			expectReady(ctx, g)
			theirs := create(ctx, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: input, namespace: "+namespace+
				"}\ndata: {precious: x}")[0]
			remove(ctx, g)
			expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(
				HavePrefix("True DependentFailed: phase "+phase+": "), ContainSubstring("ConfigMap "+namespace+"/input"),
				ContainSubstring("it exists already, and somebody else created it (managed by: field manager "),
				ContainSubstring("; move the other object to another name or namespace, and the deletion continues; the entry "+
					"{kind: ConfigMap, namespace: "+namespace+", name: input} in spec.adopt lets the component take it over, and "+
					"delete it with its contents in the end (values that only the cluster has are lost)"),
				Not(ContainSubstring("rename it here"))))
			Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "input").GetResourceVersion()).
				To(Equal(theirs.GetResourceVersion()))

			change(ctx, g, adopting(metav1alpha1.AdoptRule{Kind: "ConfigMap", Name: "input"}))
			expectNotFound(ctx, g)
			expectNotFound(ctx, theirs)
		})
	}

	It("a deletion that releases all dependents applies no phase", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", together(configMap("settings", "a"),
			oneJob("clean", preDelete(operator)), oneJob("tell", postDelete(operator))),
			servedBy(operator), func(g *gadget.Gadget) {
				g.Spec.Policies.Delete = metav1alpha1.DeleteOrphan
			})
		expectReady(ctx, g)
		settle(ctx, operator)
		mark := markAudit(ctx)
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(story(ctx, mark, operator, namespace)).NotTo(ContainElement(ContainSubstring("jobs/")))
		expectReleasedBy(mustGet(ctx, "v1", "ConfigMap", namespace, "settings"), operator, namespace, "app")
		Expect(records(ctx, namespace)).To(BeEmpty())
	})

	It("a Job of the phase pre-delete that fails stalls the deletion before any dependent is deleted, and the deletion "+
		"continues when the Job succeeds", func(ctx SpecContext) {
		namespace, label := newNamespace(ctx), newGroup()
		g := newGadget(ctx, namespace, "app", together(configMap("settings", "a"),
			oneJobFor(label, "clean", preDelete(operatorName))))
		expectReady(ctx, g)
		mark := markAudit(ctx)
		remove(ctx, g)
		failJob(ctx, namespace, "clean")
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(
			HavePrefix("True DependentFailed: phase pre-delete: failed: Job.batch "+namespace+"/clean"),
			ContainSubstring("delete the failed Jobs and Pods")))
		Expect(story(ctx, mark, operatorName, namespace)).To(Equal([]string{"patch jobs/clean"}))

		labelNode(ctx, label)
		failed := &batchv1.Job{}
		Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "clean"}, failed)).To(Succeed())
		Expect(k8s.Delete(ctx, failed, client.PropagationPolicy("Background"))).To(Succeed())
		expectNotFound(ctx, g)
		Expect(story(ctx, mark, operatorName, namespace)[1:3]).To(ConsistOf("patch jobs/clean", "delete jobs/clean"))
	})

	It("a Job of a deletion phase with the setting purge-failed is deleted when it fails, and runs again when a pass "+
		"is requested", func(ctx SpecContext) {
		namespace, operator, label := newNamespace(ctx), newOperatorName(), newGroup()
		stop := runOperator(operator, operatorOptions{})
		clean := oneJobFor(label, "clean", preDelete(operator), settingOf(operator, "purge-failed", "true"))
		g := newGadget(ctx, namespace, "app", together(configMap("settings", "a"), clean), servedBy(operator))
		expectReady(ctx, g)
		mark := markAudit(ctx)
		remove(ctx, g)
		failJob(ctx, namespace, "clean")
		stalled := And(HavePrefix("True DependentFailed: phase pre-delete: failed: Job.batch "+namespace+"/clean"),
			ContainSubstring("it was deleted, as its manifest says; it is created again when a pass is requested"),
			Not(ContainSubstring("delete the failed Jobs and Pods")))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, stalled)
		_, err := previewOf(operator).Delete(ctx, current(ctx, g))
		Expect(err).NotTo(HaveOccurred())
		stop()
		runAgain(ctx, operator)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, stalled)
		Expect(story(ctx, mark, operator, namespace)).To(Equal([]string{"patch jobs/clean", "delete jobs/clean"}))

		By("failing again")
		requestPass(ctx, g, operator)
		failJob(ctx, namespace, "clean")
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, stalled)
		Expect(story(ctx, mark, operator, namespace)[2:]).To(Equal([]string{"patch jobs/clean", "delete jobs/clean"}))

		By("succeeding")
		labelNode(ctx, label)
		requestPass(ctx, g, operator)
		expectNotFound(ctx, g)
		Expect(story(ctx, mark, operator, namespace)[4]).To(Equal("patch jobs/clean"))
	})

	It("no object of a deletion phase is applied while foreign instances block the deletion", func(ctx SpecContext) {
		namespace, elsewhere, group := newNamespace(ctx), newNamespace(ctx), newGroup()
		g := newGadget(ctx, namespace, "app", together(widgetDefinition(group), oneJob("clean", preDelete(operatorName))))
		expectReady(ctx, g)
		foreign := create(ctx, strings.Replace(widget(group, "theirs"), "{name:", "{namespace: "+elsewhere+", name:", 1))
		mark := markAudit(ctx)
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, HavePrefix("True ForeignInstances"))
		settle(ctx, operatorName)
		Expect(story(ctx, mark, operatorName, namespace)).To(BeEmpty())
		remove(ctx, foreign[0])
		expectNotFound(ctx, g)
		Expect(story(ctx, mark, operatorName, namespace)[0]).To(Equal("patch jobs/clean"))
	})

	It("if the namespace of an object of a deletion phase is being deleted, the object is skipped, and the condition "+
		"names the object", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", together(configMap("settings", "a"), oneJob("clean", preDelete(operatorName)),
			oneJob("tell", postDelete(operatorName))))
		expectReady(ctx, g)
		held := mustGet(ctx, "v1", "ConfigMap", namespace, "settings")
		hold(ctx, held)
		remove(ctx, mustGet(ctx, "v1", "Namespace", "", namespace))
		expectCondition(ctx, g, metav1alpha1.ConditionReconciling, And(
			HavePrefix("True Deleting"), ContainSubstring("skipped, because the namespace is being deleted: Job.batch "+
				namespace+"/clean")))
		letGo(ctx, held)
		expectNotFound(ctx, g)
		Expect(records(ctx, namespace)).To(BeEmpty())
	})

	It("a deletion waits while the type of an object of the phase post-delete is not served", func(ctx SpecContext) {
		namespace, group := newNamespace(ctx), newGroup()
		definition := create(ctx, widgetDefinition(group))[0]
		g := newGadget(ctx, namespace, "app", together(configMap("settings", "a"),
			strings.Replace(widget(group, "told"), "{name:", "{annotations: {"+postDelete(operatorName)+"}, name:", 1)),
			func(g *gadget.Gadget) { g.Spec.RetryInterval = seconds(1) })
		expectReady(ctx, g)
		remove(ctx, definition)
		expectNotFound(ctx, definition)
		mark := markAudit(ctx)
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(ContainSubstring("phase post-delete"),
			ContainSubstring("Widget."+group)))
		Expect(records(ctx, namespace)).To(HaveLen(1))
		create(ctx, widgetDefinition(group))
		DeferCleanup(func(ctx SpecContext) {
			remove(ctx, mustGet(ctx, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", definition.GetName()))
		})
		expectNotFound(ctx, g)
		told := slices.DeleteFunc(story(ctx, mark, operatorName, namespace), func(s string) bool {
			return strings.Contains(s,
				" secrets/")
		})
		Expect(told).To(Equal([]string{"delete configmaps/settings", "patch widgets/told", "delete widgets/told"}))
		Expect(lostPhases(ctx, namespace)).To(BeEmpty())
	})

	It("if the Secret with the objects of deletion phases was deleted, a deletion continues without these objects, and "+
		"an event reports the loss", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		stop := runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", together(configMap("settings", "a"), oneJob("clean", preDelete(operator))),
			servedBy(operator))
		expectReady(ctx, g)
		stop()
		found := records(ctx, namespace)
		letGo(ctx, &found[0])
		remove(ctx, &found[0])
		forecast, err := previewOf(operator).Delete(ctx, current(ctx, g))
		Expect(err).NotTo(HaveOccurred())
		Expect(forecast.LostPhases).To(And(HavePrefix("the deletion does not apply the objects of its phases"),
			ContainSubstring(found[0].Name)))
		mark := markAudit(ctx)
		remove(ctx, g)
		runOperator(operator, operatorOptions{})
		expectNotFound(ctx, g)
		Expect(story(ctx, mark, operator, namespace)).To(Equal([]string{"delete configmaps/settings"}))
		Eventually(ctx, func() []string { return lostPhases(ctx, namespace) }).
			Should(ConsistOf(ContainSubstring(found[0].Name)))
	})

	for _, running := range []bool{true, false} {
		It(fmt.Sprintf("a lost Secret with the objects of deletion phases is written again before the deletion (operator "+
			"running: %t)", running), func(ctx SpecContext) {
			namespace, operator := newNamespace(ctx), newOperatorName()
			stop := runOperator(operator, operatorOptions{})
			g := newGadget(ctx, namespace, "app", together(configMap("settings", "a"), oneJob("clean", preDelete(operator))),
				servedBy(operator))
			expectReady(ctx, g)
			settle(ctx, operator)
			before := records(ctx, namespace)
			if !running {
				stop()
			}
			letGo(ctx, &before[0])
			remove(ctx, &before[0])
			if !running {
				runOperator(operator, operatorOptions{})
			}
			Eventually(ctx, func() []corev1.Secret { return records(ctx, namespace) }).Should(ConsistOf(And(
				HaveField("Name", before[0].Name), HaveField("UID", Not(Equal(before[0].UID))),
				HaveField("Data", Equal(before[0].Data)))))
			settle(ctx, operator)
			forecast, err := previewOf(operator).Delete(ctx, current(ctx, g))
			Expect(err).NotTo(HaveOccurred())
			Expect(forecast.LostPhases).To(BeEmpty())
			mark := markAudit(ctx)
			remove(ctx, g)
			expectNotFound(ctx, g)
			Expect(story(ctx, mark, operator, namespace)).To(ContainElement("patch jobs/clean"))
			Expect(records(ctx, namespace)).To(BeEmpty())
		})
	}

	It("if another client deletes the Secret with the objects of deletion phases, the operator's finalizer "+
		"retains the Secret", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", together(configMap("settings", "a"), oneJob("clean", preDelete(operatorName))))
		expectReady(ctx, g)
		remove(ctx, &records(ctx, namespace)[0])
		mark := markAudit(ctx)
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(story(ctx, mark, operatorName, namespace)[0]).To(Equal("patch jobs/clean"))
		Expect(records(ctx, namespace)).To(BeEmpty())
	})
})

var _ = Describe("Crashes with deletion phases:", func() {
	// cut runs an operator until it crashes.
	cut := func(ctx context.Context, operator string, c *crash) {
		GinkgoHelper()
		stop := runOperator(operator, operatorOptions{transport: c.wrap})
		Eventually(ctx, c.crashed.Load).Should(BeTrue())
		stop()
	}
	manifests := func(operator string) string {
		return together(configMap("settings", "a"), oneJob("clean", preDelete(operator)),
			oneJob("tell", postDelete(operator)))
	}

	for what, counts := range map[string]func(namespace string) func(*http.Request) bool{
		"the write of the Secret": func(namespace string) func(*http.Request) bool {
			return writesTo(namespace,
				"secrets")
		},
		"the write of the first status": func(namespace string) func(*http.Request) bool {
			return writesTo(namespace,
				"gadgets")
		},
	} {
		It("if the operator crashes after "+what+
			", the deletion still finds all Secrets with objects of deletion phases", func(ctx SpecContext) {
			namespace, operator := newNamespace(ctx), newOperatorName()
			g := newGadget(ctx, namespace, "app", manifests(operator), servedBy(operator))
			cut(ctx, operator, &crash{counts: counts(namespace), after: 1, unanswered: true})
			remove(ctx, g)
			runOperator(operator, operatorOptions{})
			expectNotFound(ctx, g)
			Expect(records(ctx, namespace)).To(BeEmpty())
			Expect(story(ctx, 0, operator, namespace)).NotTo(ContainElement(ContainSubstring("jobs/")),
				"the objects of deletion phases must not be applied, because no dependent was applied")
		})
	}

	// lost creates a gadget with objects of one deletion phase, stops its operator, and empties the gadget's status.
	lost := func(ctx context.Context, namespace, operator, manifests string) *gadget.Gadget {
		GinkgoHelper()
		stop := runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", manifests, servedBy(operator))
		expectReady(ctx, g)
		stop()
		Expect(records(ctx, namespace)).To(HaveLen(1))
		emptied := current(ctx, g)
		emptied.Status = gadget.GadgetStatus{}
		Expect(k8s.Status().Update(ctx, emptied)).To(Succeed())
		return g
	}

	It("if the status was lost, the Secret with the objects of deletion phases is deleted when no such object is "+
		"rendered any more", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		g := lost(ctx, namespace, operator, manifests(operator))
		changeManifests(ctx, g, configMap("settings", "a"))
		runOperator(operator, operatorOptions{})
		expectReady(ctx, g)
		Expect(records(ctx, namespace)).To(BeEmpty())
	})

	It("if the status was lost, the outdated Secret with objects of deletion phases is deleted when these "+
		"objects change", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		g := lost(ctx, namespace, operator, manifests(operator))
		previous := records(ctx, namespace)[0].Name
		changeManifests(ctx, g, together(configMap("settings", "a"), oneJob("wipe", preDelete(operator))))
		runOperator(operator, operatorOptions{})
		expectReady(ctx, g)
		Expect(records(ctx, namespace)).To(And(HaveLen(1), Not(ContainElement(HaveField("Name", previous)))))
	})

	It("after the loss of the status, the deletion of a component that has only objects of deletion phases leaves no "+
		"Secret behind", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		g := lost(ctx, namespace, operator, oneJob("clean", preDelete(operator)))
		remove(ctx, g)
		runOperator(operator, operatorOptions{})
		expectNotFound(ctx, g)
		Expect(records(ctx, namespace)).To(BeEmpty())
	})

	It("after the loss of a status, an operator without the right to list Secrets continues if it has stored no "+
		"records in Secrets", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator))
		forbidden := &refusal{method: http.MethodGet, path: "/namespaces/" + namespace + "/secrets"}
		forbidden.on.Store(true)
		runOperator(operator, operatorOptions{transport: forbidden.wrap})
		expectReady(ctx, g)
		emptied := current(ctx, g)
		emptied.Status = gadget.GadgetStatus{}
		Expect(k8s.Status().Update(ctx, emptied)).To(Succeed())
		expectReady(ctx, g)
		remove(ctx, g)
		expectNotFound(ctx, g)
	})

	It("the inventory is rebuilt completely if the operator crashes before it stores the objects of deletion "+
		"phases in a Secret", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		stop := runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", together(configMap("settings", "a"), configMap("pruned", "a")),
			servedBy(operator))
		expectReady(ctx, g)
		stop()
		emptied := current(ctx, g)
		emptied.Status = gadget.GadgetStatus{}
		Expect(k8s.Status().Update(ctx, emptied)).To(Succeed())
		changeManifests(ctx, g, manifests(operator))
		cut(ctx, operator, &crash{counts: writesTo(namespace, "secrets"), after: 0})
		runOperator(operator, operatorOptions{})
		expectReady(ctx, g)
		Eventually(ctx, func() int { return countConfigMaps(ctx, namespace) }).Should(Equal(1))
	})

	for resource, writes := range map[string][]int64{
		"jobs": {1, 2, 3}, "configmaps": {1}, "gadgets": {1, 2, 3, 4, 5},
		"secrets": {1, 2},
	} {
		for _, after := range writes {
			It(fmt.Sprintf("each Job of a deletion phase runs once if the operator crashes after %d writes to %s", after,
				resource), func(ctx SpecContext) {
				namespace, operator := newNamespace(ctx), newOperatorName()
				stop := runOperator(operator, operatorOptions{})
				g := newGadget(ctx, namespace, "app", manifests(operator), servedBy(operator))
				expectReady(ctx, g)
				stop()
				mark := markAudit(ctx)
				remove(ctx, g)
				c := &crash{counts: writesTo(namespace, resource), after: after, unanswered: true}
				stop = runOperator(operator, operatorOptions{transport: c.wrap})
				Eventually(ctx, func() bool { return c.crashed.Load() || isAbsent(ctx, g) }).Should(BeTrue())
				stop()
				runOperator(operator, operatorOptions{})
				expectNotFound(ctx, g)
				created := slices.DeleteFunc(story(ctx, mark, operator, namespace), func(s string) bool {
					return !strings.HasPrefix(
						s, "patch jobs/")
				})
				Expect(created).To(Equal([]string{"patch jobs/clean", "patch jobs/tell"}))
				Expect(records(ctx, namespace)).To(BeEmpty())
				Expect(countConfigMaps(ctx, namespace)).To(BeZero())
				Expect(lostPhases(ctx, namespace)).To(BeEmpty())
			})
		}
	}
})

// lostPhases returns the messages of events about lost records of deletion phases.
func lostPhases(ctx context.Context, namespace string) []string {
	return notesOf(ctx, namespace, "PhasesLost")
}

// notesOf returns the messages of the events with a reason.
func notesOf(ctx context.Context, namespace, reason string) (notes []string) {
	GinkgoHelper()
	events := &eventsv1.EventList{}
	Expect(k8s.List(ctx, events, client.InNamespace(namespace))).To(Succeed())
	for _, e := range events.Items {
		if e.Reason == reason {
			notes = append(notes, e.Note)
		}
	}
	return notes
}

// isAbsent reports whether an object does not exist.
func isAbsent(ctx context.Context, g *gadget.Gadget) bool {
	return k8s.Get(ctx, client.ObjectKeyFromObject(g), &gadget.Gadget{}) != nil
}
