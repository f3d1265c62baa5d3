package cli_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// testedChart contains two tests, and a service account for them. A value sets the delete policy of the tests.
var testedChart = []string{
	"Chart.yaml", "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
	"values.yaml", "image: probe\npolicy: before-hook-creation\n",
	"templates/web.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n",
	"templates/tests.yaml", `
apiVersion: v1
kind: ServiceAccount
metadata: {name: tester, annotations: {helm.sh/hook: test, helm.sh/hook-weight: "-1"}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: results
  annotations: {helm.sh/hook: test, helm.sh/hook-weight: "-1", helm.sh/hook-delete-policy: hook-succeeded}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata:
  name: b
  annotations: {helm.sh/hook: test, helm.sh/hook-delete-policy: {{ .Values.policy | quote }}}
spec: {restartPolicy: Never, serviceAccountName: tester, containers: [{name: main, image: {{ .Values.image }}}]}
---
apiVersion: v1
kind: Pod
metadata:
  name: a
  annotations: {helm.sh/hook: test-success, helm.sh/hook-delete-policy: {{ .Values.policy | quote }}}
spec: {restartPolicy: Never, containers: [{name: main, image: {{ .Values.image }}}]}
`,
}

// appliedChart brings the tested chart to Ready.
func appliedChart(ctx context.Context, flags ...string) (namespace string) {
	GinkgoHelper()
	namespace = newNamespace(ctx)
	operate(namespace)
	args := append([]string{"apply", "shop", folder(testedChart...), "--wait"}, flags...)
	Expect(fairlead(ctx, namespace, args...)).To(HaveField("Code", 0))
	return namespace
}

// endPod sets the phase of a Pod once it exists. There is no kubelet in this cluster.
func endPod(ctx context.Context, namespace, name string, phase corev1.PodPhase) *corev1.Pod {
	GinkgoHelper()
	pod := &corev1.Pod{}
	Eventually(ctx, func() error {
		return k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, pod)
	}).Should(Succeed())
	pod.Status.Phase = phase
	Expect(k8s.Status().Update(ctx, pod)).To(Succeed())
	return pod
}

func podsIn(ctx context.Context, namespace string) []string {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(k8s.List(ctx, &pods, client.InNamespace(namespace))).To(Succeed())
	names := []string{}
	for _, pod := range pods.Items {
		names = append(names, pod.Name)
	}
	return names
}

var _ = Describe("fairlead test", onCluster(func() {
	It("runs the tests of a chart one after the other, with the values of the component", func(ctx SpecContext) {
		namespace := appliedChart(ctx, "--set", "image=smoke")
		Expect(podsIn(ctx, namespace)).To(BeEmpty(), "the operator created the pod of a test")
		p := start(ctx, namespace, "test", "shop")
		pod := endPod(ctx, namespace, "a", corev1.PodSucceeded)
		Expect(pod.Spec.Containers[0].Image).To(Equal("smoke"))
		Eventually(ctx, p.out).Should(gbytes.Say(`Pod %s/a passed after \ds\n`, namespace))
		pod = endPod(ctx, namespace, "b", corev1.PodSucceeded)
		Eventually(ctx, p.out).Should(gbytes.Say(`Pod %s/b passed after \ds\n`, namespace))
		Eventually(ctx, p.code).Should(Receive(Equal(0)))
		Expect(podsIn(ctx, namespace)).To(ConsistOf("a", "b"))

		claim := &corev1.PersistentVolumeClaim{}
		results := client.ObjectKey{Namespace: namespace, Name: "results"}
		Expect(k8s.Get(ctx, results, claim)).To(Succeed(), "the command deleted a claim")
		used, previous := claim.UID, pod.UID
		p = start(ctx, namespace, "test", "shop", "b")
		Eventually(ctx, func() bool {
			err := k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "b"}, pod)
			return err == nil && pod.UID != previous
		}).Should(BeTrue(), "the pod of the previous test was not replaced")
		endPod(ctx, namespace, "b", corev1.PodSucceeded)
		Eventually(ctx, p.code).Should(Receive(Equal(0)), "the command must succeed after the named test alone")
		Expect(k8s.Get(ctx, results, claim)).To(Succeed())
		Expect(claim.UID).To(Equal(used), "the command replaced the claim of the previous run")
		Expect(claim.DeletionTimestamp).To(BeNil(), "the command deleted a claim")
	})

	It("stops at the first test that fails, and says why it failed", func(ctx SpecContext) {
		namespace := appliedChart(ctx)
		p := start(ctx, namespace, "test", "shop")
		pod := &corev1.Pod{}
		Eventually(ctx, func() error {
			return k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "a"}, pod)
		}).Should(Succeed())
		pod.Status.Phase = corev1.PodFailed
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "main", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: 4,
				Reason:   "Error",
			}},
		}}
		Expect(k8s.Status().Update(ctx, pod)).To(Succeed())
		Eventually(ctx, p.code).Should(Receive(Equal(1)))
		Expect(p.out).To(gbytes.Say(`Pod %s/a failed after \ds: Error: container main exited with code 4\n`, namespace))
		Expect(podsIn(ctx, namespace)).To(ConsistOf("a"))
	})

	It("deletes succeeded tests at the end, and failed tests, if their delete policies say so", func(ctx SpecContext) {
		namespace := appliedChart(ctx, "--set", `policy=hook-succeeded\,hook-failed`)
		p := start(ctx, namespace, "test", "shop")
		endPod(ctx, namespace, "a", corev1.PodSucceeded)
		Eventually(ctx, p.out).Should(gbytes.Say(`a passed`))
		Expect(podsIn(ctx, namespace)).To(ContainElement("a"), "the pod a was deleted, although other tests may need it")
		endPod(ctx, namespace, "b", corev1.PodFailed)
		Eventually(ctx, p.code).Should(Receive(Equal(1)))
		Eventually(ctx, func() []string { return podsIn(ctx, namespace) }).Should(BeEmpty())
		err := k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "tester"}, &corev1.ServiceAccount{})
		Expect(err).NotTo(HaveOccurred(),
			"the service account tester was deleted, although its default delete policy is before-hook-creation")
	})

	It("gives up on a test after the timeout", func(ctx SpecContext) {
		namespace := appliedChart(ctx)
		r := fairlead(ctx, namespace, "test", "shop", "--timeout", "1s")
		Expect(r.Code).To(Equal(1))
		Expect(r.Out).To(ContainSubstring("a failed after 1s: not complete after 1s"))
	})

	It("does not replace an object that is no test", func(ctx SpecContext) {
		namespace := appliedChart(ctx)
		Expect(k8s.Create(ctx, &corev1.ServiceAccount{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "tester", Labels: map[string]string{"mine": "yes"}},
		})).To(Succeed())
		r := fairlead(ctx, namespace, "test", "shop")
		Expect(r.Code).To(Equal(1))
		Expect(r.Err).To(ContainSubstring("ServiceAccount " + namespace +
			"/tester: an object of this name exists and is no test"))
		Expect(podsIn(ctx, namespace)).To(BeEmpty())
	})

	It("refuses what it cannot run", func(ctx SpecContext) {
		namespace := appliedChart(ctx)
		Expect(fairlead(ctx, namespace, "test", "shop", "c")).To(Equal(result{
			Code: 2, Err: "fairlead: \"c\" is no test of the chart; the tests are: a, b\nSee 'fairlead test --help'.\n",
		}))
		Expect(fairlead(ctx, namespace, "test", "none").Err).To(ContainSubstring("does not exist"))
		Expect(fairlead(ctx, namespace, "test", "shop", "--timeout", "0s").Code).To(Equal(2))

		Expect(fairlead(ctx, namespace, "apply", "plain",
			folder("a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"),
			"--wait").Code).To(Equal(0))
		r := fairlead(ctx, namespace, "test", "plain")
		Expect(r.Code).To(Equal(1))
		Expect(r.Err).To(ContainSubstring("only charts have tests"))

		allow(ctx, namespace, "watcher", "fairlead-components-viewer")
		Eventually(ctx, func() result { return fairlead(ctx, namespace, "test", "shop", "--as=watcher") }).
			Should(HaveField("Code", 3))
		err := k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "a"}, &corev1.Pod{})
		Expect(apierrors.IsNotFound(err)).To(BeTrue())
	})
}))
