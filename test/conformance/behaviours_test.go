package conformance_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/test/testcluster"
)

// inPlacePolicies are the update policies that update objects in place.
var inPlacePolicies = []string{"replace", "ssa-merge", "ssa-override"}

// patchAs changes an object by a JSON merge patch with the given field manager.
func patchAs(ctx context.Context, manager string, o client.Object, text string) {
	GinkgoHelper()
	Expect(k8s.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(text)), client.FieldOwner(manager))).
		To(Succeed())
}

var _ = Describe("Dependents with fields of other managers:", func() {
	// writesSince lists the writes to a resource since a position in the audit log, without dry runs.
	writesSince := func(ctx context.Context, mark auditMark, resource string) testcluster.Events {
		GinkgoHelper()
		return succeeded(requestsSince(ctx, mark, operatorName).Resource(resource).Writes()).
			Where(func(e testcluster.Event) bool { return !strings.Contains(e.RequestURI, "dryRun") })
	}
	field := func(o *unstructured.Unstructured, path ...string) any {
		v, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
		return v
	}

	for _, policy := range inPlacePolicies {
		Context("update policy "+policy+":", func() {
			It("replicas that an autoscaler sets are kept; scaling costs no write, and an upgrade "+
				"costs one write", func(ctx SpecContext) {
				namespace := newNamespace(ctx)
				web := func() *unstructured.Unstructured { return mustGet(ctx, "apps/v1", "Deployment", namespace, "web") }
				manifest := removeLine(deployment("web", updatePolicy(policy)), "replicas: 1")
				g := newGadget(ctx, namespace, "app", manifest)
				expectReady(ctx, g)
				mark := markAudit(ctx)
				scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 5}}
				Expect(k8s.SubResource("scale").Update(ctx, web(), client.WithSubResourceBody(scale),
					client.FieldOwner("kube-controller-manager"))).To(Succeed())
				Eventually(ctx, func() any { return field(web(), "status", "readyReplicas") }).Should(BeEquivalentTo(5))
				Expect(verbs(inNamespace(writesSince(ctx, mark, "deployments"), namespace))).To(BeEmpty())

				changeManifests(ctx, g, manifest+"\n  revisionHistoryLimit: 3")
				expectReady(ctx, g)
				Expect(field(web(), "spec", "replicas")).To(BeEquivalentTo(5))
				Expect(field(web(), "spec", "revisionHistoryLimit")).To(BeEquivalentTo(3))
				Expect(inNamespace(writesSince(ctx, mark, "deployments"), namespace)).To(HaveLen(1))
			})

			It("the rules of an aggregated ClusterRole are kept; their aggregation costs no write, and an upgrade "+
				"costs one write", func(ctx SpecContext) {
				namespace := newNamespace(ctx)
				manifest := func(label string) string {
					return fmt.Sprintf(`apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %[1]s-all, labels: {label: %[2]s}, annotations: {%[3]s}}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {aggregate: %[1]s}}]}
rules: []`, namespace, label, updatePolicy(policy))
				}
				part := create(ctx, fmt.Sprintf(`apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %[1]s-one, labels: {aggregate: %[1]s}}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]`, namespace))[0]
				all := func() *unstructured.Unstructured {
					return mustGet(ctx, "rbac.authorization.k8s.io/v1", "ClusterRole", "", namespace+"-all")
				}
				mark := markAudit(ctx)
				g := newGadget(ctx, namespace, "app", manifest("a"))
				expectReady(ctx, g)
				Eventually(ctx, func() any { return all().Object["rules"] }).Should(HaveLen(1))
				requestPass(ctx, g, operatorName)
				changeManifests(ctx, g, manifest("b"))
				expectReady(ctx, g)
				Expect(all().GetLabels()).To(HaveKeyWithValue("label", "b"))
				Expect(all().Object["rules"]).To(HaveLen(1))
				Expect(writesSince(ctx, mark, "clusterroles")).To(HaveLen(2),
					"want one write by the create and one write by the upgrade")
				remove(ctx, g)
				expectNotFound(ctx, g)
				remove(ctx, part)
			})

			It("the volume of a bound claim is kept; binding costs no write, and an upgrade "+
				"costs one write", func(ctx SpecContext) {
				namespace := newNamespace(ctx)
				volume := create(ctx, fmt.Sprintf(`apiVersion: v1
kind: PersistentVolume
metadata: {name: %s}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /tmp/none}, storageClassName: "", claimRef: {namespace: %s, name: data}}`,
					namespace, namespace))[0]
				manifest := func(label string) string {
					return fmt.Sprintf(`apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, labels: {label: %s}, annotations: {%s, %s}}
spec: {storageClassName: "", accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}`, label,
						updatePolicy(policy), deletePolicy("delete"))
				}
				claim := func() *unstructured.Unstructured {
					return mustGet(ctx, "v1", "PersistentVolumeClaim", namespace, "data")
				}
				mark := markAudit(ctx)
				g := newGadget(ctx, namespace, "app", manifest("a"))
				expectReady(ctx, g)
				Expect(field(claim(), "spec", "volumeName")).To(Equal(volume.GetName()))
				requestPass(ctx, g, operatorName)
				changeManifests(ctx, g, manifest("b"))
				expectReady(ctx, g)
				Expect(claim().GetLabels()).To(HaveKeyWithValue("label", "b"))
				Expect(field(claim(), "spec", "volumeName")).To(Equal(volume.GetName()))
				Expect(inNamespace(writesSince(ctx, mark, "persistentvolumeclaims"), namespace)).To(HaveLen(2),
					"want one write by the create and one write by the upgrade")
				remove(ctx, g)
				expectNotFound(ctx, g)
				remove(ctx, volume)
			})

			It("the changes that a mutating admission policy makes to a dependent are not treated as drift: each change of the "+
				"manifest costs one write, and drift of other fields is repaired", func(ctx SpecContext) {
				namespace := newNamespace(ctx)
				mutateConfigMaps(ctx, namespace)
				mark := markAudit(ctx)
				g := newGadget(ctx, namespace, "app", settingsMap("value: sent, other: a", updatePolicy(policy)))
				expectReady(ctx, g)
				requestPass(ctx, g, operatorName)
				Expect(dataOf(ctx, namespace)).To(Equal(map[string]any{"value": "mutated", "other": "a"}))
				Expect(inNamespace(writesSince(ctx, mark, "configmaps"), namespace)).To(HaveLen(1), "want one write, by the create")

				changeManifests(ctx, g, settingsMap("value: sent, other: b", updatePolicy(policy)))
				expectReady(ctx, g)
				requestPass(ctx, g, operatorName)
				Expect(inNamespace(writesSince(ctx, mark, "configmaps"), namespace)).To(HaveLen(2),
					"want a second write, by the upgrade")

				patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "settings"), `{"data":{"other":"theirs"}}`)
				Eventually(ctx, func() any { return dataOf(ctx, namespace) }).
					Should(Equal(map[string]any{"value": "mutated", "other": "b"}))
				requestPass(ctx, g, operatorName)
				Expect(inNamespace(writesSince(ctx, mark, "configmaps"), namespace)).To(HaveLen(3),
					"want a third write, by the repair")
			})

			It("fields that an admission policy set at the creation are kept through a repair and a "+
				"change of settings", func(ctx SpecContext) {
				namespace := newNamespace(ctx)
				admit(ctx, namespace, "CREATE",
					`metadata: Object.metadata{annotations: {"example.com/admitted": "x"}}, data: {"admitted": "x"}`)
				Eventually(ctx, func() (map[string]string, error) {
					probe := newConfigMap(namespace, "probe")
					err := k8s.Create(ctx, probe)
					remove(ctx, probe)
					return probe.Data, err
				}).Should(HaveKey("admitted"))
				g := newGadget(ctx, namespace, "app", settingsMap("a: x", updatePolicy(policy)))
				expectReady(ctx, g)
				admitted := func() *unstructured.Unstructured { return mustGet(ctx, "v1", "ConfigMap", namespace, "settings") }
				Expect(admitted().Object["data"]).To(HaveKeyWithValue("admitted", "x"))

				patch(ctx, admitted(), `{"data":{"a":"theirs"}}`)
				Eventually(ctx, func() any { return admitted().Object["data"] }).
					Should(Equal(map[string]any{"a": "x", "admitted": "x"}))
				Expect(admitted().GetAnnotations()).To(HaveKeyWithValue("example.com/admitted", "x"))

				changeManifests(ctx, g, settingsMap("a: x", updatePolicy(policy),
					setting("reconcile-policy", "on-object-or-component-change")))
				expectReady(ctx, g)
				Expect(admitted().GetAnnotations()).To(And(HaveKey(operatorName+"/reconcile-policy"),
					HaveKeyWithValue("example.com/admitted", "x")))
				Expect(admitted().Object["data"]).To(Equal(map[string]any{"a": "x", "admitted": "x"}))
			})

			It("a dependent whose managed fields were removed by hand is repaired once, and later "+
				"drift is repaired", func(ctx SpecContext) {
				namespace := newNamespace(ctx)
				g := newGadget(ctx, namespace, "app", settingsMap("a: x, dropped: x", updatePolicy(policy)))
				expectReady(ctx, g)
				mark := markAudit(ctx)
				patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "settings"), `{"metadata":{"managedFields":[{}]}}`)
				Eventually(ctx, func() []string { return managers(mustGet(ctx, "v1", "ConfigMap", namespace, "settings")) }).
					Should(ContainElement(ownEntry(policy)))
				requestPass(ctx, g, operatorName)
				Expect(inNamespace(writesSince(ctx, mark, "configmaps"), namespace)).To(HaveLen(1))

				patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "settings"), `{"data":{"a":"theirs"}}`)
				Eventually(ctx, func() any { return dataOf(ctx, namespace) }).Should(HaveKeyWithValue("a", "x"))

				By("dropping a field from the manifest")
				changeManifests(ctx, g, settingsMap("a: x", updatePolicy(policy)))
				expectReady(ctx, g)
				Expect(dataOf(ctx, namespace)).To(Equal(map[string]any{"a": "x"}))
			})

			It("updates by eleven other managers, of which the API server merges the oldest, cause at most two repairs, and "+
				"later drift is repaired", func(ctx SpecContext) {
				namespace := newNamespace(ctx)
				g := newGadget(ctx, namespace, "app", settingsMap("a: x, dropped: x", updatePolicy(policy)))
				expectReady(ctx, g)
				mark := markAudit(ctx)
				for i := range 11 {
					patchAs(ctx, fmt.Sprintf("other-%d", i), mustGet(ctx, "v1", "ConfigMap", namespace, "settings"),
						fmt.Sprintf(`{"data":{"other-%d":"x"}}`, i))
				}
				Expect(managers(mustGet(ctx, "v1", "ConfigMap", namespace, "settings"))).
					To(ContainElement("ancient-changes Update"))
				requestPass(ctx, g, operatorName)
				Expect(len(inNamespace(writesSince(ctx, mark, "configmaps"), namespace))).To(BeNumerically("<=", 2),
					"want at most two repairs: each of the two foreign writes that exceed the ten managed fields entries may remove "+
						"the operator's entry")

				mark = markAudit(ctx)
				patchAs(ctx, "other-11", mustGet(ctx, "v1", "ConfigMap", namespace, "settings"), `{"data":{"a":"theirs"}}`)
				Eventually(ctx, func() any { return dataOf(ctx, namespace) }).Should(HaveKeyWithValue("a", "x"))
				requestPass(ctx, g, operatorName)
				Expect(inNamespace(writesSince(ctx, mark, "configmaps"), namespace)).To(HaveLen(1))

				changeManifests(ctx, g, settingsMap("a: x", updatePolicy(policy)))
				expectReady(ctx, g)
				Expect(dataOf(ctx, namespace)).To(And(HaveLen(12), Not(HaveKey("dropped"))))
			})

			It("if the owner label of a dependent is removed, one write restores the label; if the label names another owner, "+
				"an ownership conflict is reported without a write", func(ctx SpecContext) {
				namespace := newNamespace(ctx)
				g := newGadget(ctx, namespace, "app", settingsMap("a: x", updatePolicy(policy)))
				expectReady(ctx, g)
				mark := markAudit(ctx)
				label := operatorName + "/owner-id"
				patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "settings"),
					fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, label))
				Eventually(ctx, func() any { return mustGet(ctx, "v1", "ConfigMap", namespace, "settings").GetLabels() }).
					Should(HaveKey(label))
				requestPass(ctx, g, operatorName)
				Expect(inNamespace(writesSince(ctx, mark, "configmaps"), namespace)).To(HaveLen(1))

				mark = markAudit(ctx)
				patchAs(ctx, operatorName, mustGet(ctx, "v1", "ConfigMap", namespace, "settings"), fmt.Sprintf(
					`{"metadata":{"labels":{%[1]q:"6d072c20183f164c974cae4d07a2c3538fdf420c"},"annotations":{%[1]q:"somebody else"}}}`,
					label))
				expectCondition(ctx, g, "Stalled", And(HavePrefix("True OwnershipConflict"), ContainSubstring("somebody else")))
				Expect(verbs(inNamespace(writesSince(ctx, mark, "configmaps"), namespace))).To(BeEmpty())
			})
		})
	}
})

// mutateConfigMaps creates an admission policy that sets the value of all ConfigMaps in a namespace, and waits until
// the API server enforces the policy.
func mutateConfigMaps(ctx context.Context, namespace string) {
	GinkgoHelper()
	admit(ctx, namespace, "CREATE, UPDATE", `data: {"value": "mutated"}`)
	probe := newConfigMap(namespace, "probe")
	Expect(k8s.Create(ctx, probe)).To(Succeed())
	Eventually(ctx, func() (map[string]string, error) {
		probe.Data = map[string]string{"value": "sent"}
		err := k8s.Update(ctx, probe)
		return probe.Data, err
	}).Should(HaveKeyWithValue("value", "mutated"))
}

// admit creates an admission policy that sets fields (a CEL expression) of all ConfigMaps in a namespace. The API
// server starts to enforce the policy a moment later.
func admit(ctx context.Context, namespace, operations, fields string) {
	GinkgoHelper()
	made := create(ctx, strings.NewReplacer("NAME", namespace, "OPERATIONS", operations, "FIELDS",
		fields).Replace(`apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: NAME}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAME}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [OPERATIONS], resources: [configmaps]}]
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{FIELDS}'}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: NAME}
spec: {policyName: NAME}`))
	for _, o := range made {
		DeferCleanup(func(ctx SpecContext) { remove(ctx, o) })
	}
}
