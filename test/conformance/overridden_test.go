package conformance_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

var _ = Describe("Fields that admission overrides:", func() {
	// told returns the notes of the events with the reason Overridden in a namespace.
	told := func(ctx context.Context, namespace string) []string {
		GinkgoHelper()
		list := &eventsv1.EventList{}
		Expect(k8s.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
		var notes []string
		for _, e := range list.Items {
			if e.Reason == metav1alpha1.ConditionOverridden {
				notes = append(notes, e.Type+" "+e.Note)
			}
		}
		return notes
	}
	message := func(about string) string {
		return "a webhook, an admission policy or the API server changed what was sent: " + about +
			"; change the manifest, or whatever changes the field"
	}

	for _, policy := range inPlacePolicies {
		Context("update policy "+policy+":", func() {
			It("overridden fields are in a condition and in one Event, cost no write, and stay there after a restart, until a "+
				"write is not changed", func(ctx SpecContext) {
				namespace, operator := newNamespace(ctx), newOperatorName()
				mutateConfigMaps(ctx, namespace)
				settings := func(values string) string { return settingsMap(values, operator+"/update-policy: "+policy) }
				stop := runOperator(operator, operatorOptions{})
				mark := markAudit(ctx)
				g := newGadget(ctx, namespace, "app", settings("value: sent, other: a"), servedBy(operator))
				expectReady(ctx, g)
				want := message("ConfigMap " + namespace + "/settings (data.value has another value)")
				expectCondition(ctx, g, metav1alpha1.ConditionOverridden, Equal("True ChangedByAdmission: "+want))
				Eventually(ctx, func() []string { return told(ctx, namespace) }).Should(ConsistOf("Warning " + want))
				stop()
				runOperator(operator, operatorOptions{})
				requestPass(ctx, g, operator)
				expectReady(ctx, g)
				expectCondition(ctx, g, metav1alpha1.ConditionOverridden, Equal("True ChangedByAdmission: "+want))
				writes := func() []string {
					return verbs(inNamespace(succeeded(requestsSince(ctx, mark, operator).Resource("configmaps").Writes()), namespace))
				}
				Expect(writes()).To(HaveLen(1))

				By("changing another field, which admission does not change")
				changeManifests(ctx, g, settings("value: sent, other: b"))
				expectReady(ctx, g)
				expectCondition(ctx, g, metav1alpha1.ConditionOverridden, Equal("True ChangedByAdmission: "+want))

				By("sending the value that admission sets")
				changeManifests(ctx, g, settings("value: mutated, other: b"))
				expectReady(ctx, g)
				expectCondition(ctx, g, metav1alpha1.ConditionOverridden, BeEmpty())
				Expect(told(ctx, namespace)).To(HaveLen(1))
				Expect(writes()).To(HaveLen(3))
			})

			It("defaults, other forms of a value, and values that the API server assigns are "+
				"not overridden", func(ctx SpecContext) {
				namespace := newNamespace(ctx)
				g := newGadget(ctx, namespace, "app", together(
					deployment("web", updatePolicy(policy))+"\n  paused: false\n  minReadySeconds: 0",
					"{apiVersion: v1, kind: Service, metadata: {name: web, annotations: {"+updatePolicy(policy)+"}}, "+
						"spec: {type: NodePort, clusterIP: '', ports: [{port: 80, nodePort: 0, targetPort: http}]}}",
					"{apiVersion: v1, kind: Secret, metadata: {name: login, creationTimestamp: null, annotations: {"+
						updatePolicy(policy)+"}}, "+
						"stringData: {user: a}, data: {key: \"AAEC\\nAwQF\"}}",
					"{apiVersion: v1, kind: LimitRange, metadata: {name: limits, annotations: {"+updatePolicy(policy)+"}}, "+
						"spec: {limits: [{type: Container, max: {cpu: 4000m, memory: 1024Mi}, default: {cpu: 1, memory: 0.5Gi}}]}}",
					"{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: web, annotations: {"+
						updatePolicy(policy)+"}}, "+
						"spec: {podSelector: {}, ingress: [{ports: [{port: 80}]}]}}",
				))
				expectReady(ctx, g)
				expectCondition(ctx, g, metav1alpha1.ConditionOverridden, BeEmpty())
			})
		})
	}

	It("overridden numbers and images are named with both values", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		admitDeployments(ctx, namespace)
		g := newGadget(ctx, namespace, "app", deployment("web"))
		expectCondition(ctx, g, metav1alpha1.ConditionOverridden,
			Equal("True ChangedByAdmission: "+message("Deployment.apps "+namespace+
				"/web (spec.replicas is 2 instead of 1, spec.template.spec.containers[name=\"main\"].image is mirror/nginx:1 "+
				"instead of nginx:1)")))
		expectReady(ctx, g)
	})
})

// admitDeployments creates an admission policy that changes the replicas and the image of all Deployments in a
// namespace, and waits until the API server enforces the policy.
func admitDeployments(ctx context.Context, namespace string) {
	GinkgoHelper()
	made := create(ctx, strings.ReplaceAll(`apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: NAME}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAME}}
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}]
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: >-
        [JSONPatch{op: "replace", path: "/spec/replicas", value: 2},
        JSONPatch{op: "replace", path: "/spec/template/spec/containers/0/image", value: "mirror/nginx:1"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: NAME}
spec: {policyName: NAME}`, "NAME", namespace))
	for _, o := range made {
		DeferCleanup(func(ctx SpecContext) { remove(ctx, o) })
	}
	Eventually(ctx, func() (any, error) {
		probe := &unstructured.Unstructured{}
		Expect(yaml.Unmarshal([]byte(deployment("probe")), &probe.Object)).To(Succeed())
		probe.SetNamespace(namespace)
		err := k8s.Create(ctx, probe, client.DryRunAll)
		replicas, _, _ := unstructured.NestedInt64(probe.Object, "spec", "replicas")
		return replicas, err
	}).Should(BeEquivalentTo(2))
}
