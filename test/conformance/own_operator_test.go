package conformance_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// podUser returns a connection with the token of a pod, as an operator in the cluster has it.
func podUser(ctx context.Context, namespace, pod, account string) *rest.Config {
	GinkgoHelper()
	create(ctx,
		fmt.Sprintf(
			`{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: %s}, spec: {serviceAccountName: %s, containers: [{name: a, image: "x:1"}]}}`, pod, namespace, account))
	made := mustGet(ctx, "v1", "Pod", namespace, pod)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod, UID: made.GetUID()},
	}}
	of := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}}
	Expect(k8s.SubResource("token").Create(ctx, of, request)).To(Succeed())
	config := rest.AnonymousClientConfig(cluster.Config())
	config.BearerToken = request.Status.Token
	return config
}

var _ = Describe("A component that contains its own operator:", func() {
	It("what the operator runs on is released, pruned or deleted, and the other "+
		"dependents are deleted", func(ctx SpecContext) {
		tools, namespace, operator := newNamespace(ctx), newNamespace(ctx), newOperatorName()
		account := func(annotations string) string {
			return fmt.Sprintf("{apiVersion: v1, kind: ServiceAccount, metadata: {name: runner, namespace: %s%s}}",
				tools, annotations)
		}
		create(ctx, account(""))
		create(ctx,
			fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: %[1]s-first},
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}, subjects: [{kind: ServiceAccount, name: runner, namespace: %[1]s}]}`, tools))
		runOperator(operator, operatorOptions{user: podUser(ctx, tools, "runner-6b5f9c7d8-x2x4z", "runner")})
		rights := fmt.Sprintf(`apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %[1]s}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}, {nonResourceURLs: ["*"], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s}
subjects: [{kind: ServiceAccount, name: runner, namespace: %[1]s}]`, tools)
		deployment := func(name string) string {
			return fmt.Sprintf(
				`{apiVersion: apps/v1, kind: Deployment, metadata: {name: %s, namespace: %s}, spec: {replicas: 0, selector: {matchLabels: {a: b}}, `+
					`template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: "x:1"}]}}}}`, name, tools)
		}
		adopted := account(fmt.Sprintf(", annotations: {%s/adoption-policy: always}", operator))
		g := newGadget(ctx, namespace, "app", together(adopted, rights, deployment("runner"), deployment("web"),
			configMap("settings", "a")), servedBy(operator), retrySoon)
		expectReady(ctx, g)
		settle(ctx, operator)
		remove(ctx, mustGet(ctx, "rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "", tools+"-first"))

		By("pruning the Deployment")
		changeManifests(ctx, g, together(adopted, rights, deployment("web"), configMap("settings", "a")))
		live := func(apiVersion, kind, in, name string) func() *unstructured.Unstructured {
			return func() *unstructured.Unstructured { return mustGet(ctx, apiVersion, kind, in, name) }
		}
		expectReleased(ctx, operator, live("apps/v1", "Deployment", tools, "runner"))
		expectReady(ctx, g)

		By("deleting the component")
		remove(ctx, g)
		expectNotFound(ctx, g)
		expectReleased(ctx, operator, live("v1", "ServiceAccount", tools, "runner"))
		expectReleased(ctx, operator, live("rbac.authorization.k8s.io/v1", "ClusterRole", "", tools))
		expectReleased(ctx, operator, live("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "", tools))
		Expect(configMapExists(ctx, namespace, "settings")).To(BeFalse())
		_, err := get(ctx, "apps/v1", "Deployment", tools, "web")
		Expect(client.IgnoreNotFound(err)).To(Succeed())
		Expect(err).To(HaveOccurred())
		remove(ctx, live("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "", tools)())
		remove(ctx, live("rbac.authorization.k8s.io/v1", "ClusterRole", "", tools)())
	})
})
