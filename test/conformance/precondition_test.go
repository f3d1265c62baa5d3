package conformance_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// intruder calls a function right before it sends a request with the given method and path. At that moment the operator
// has decided to write, and the API server has not received the write yet.
type intruder struct {
	method, path string

	mu sync.Mutex
	// passing is the number of matching requests before which act is not called. act is nil if nothing is to be called.
	passing int
	act     func()
}

func (m *intruder) arm(passing int, act func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.passing, m.act = passing, act
}

func (m *intruder) meet() {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.act == nil:
	case m.passing > 0:
		m.passing--
	default:
		m.act()
		m.act = nil
	}
}

func (m *intruder) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Method == m.method && strings.HasSuffix(r.URL.Path, m.path) {
			m.meet()
		}
		return next.RoundTrip(r)
	})
}

var _ = Describe("Objects whose owner changes right before a write:", func() {
	const marks = `"labels":{"others.example.com/owner-id":"1"},"annotations":{"others.example.com/owner-id":"others"}`

	// intrudeWith runs an operator for a ConfigMap. After a call of arm, another owner takes over or recreates the
	// ConfigMap right before a request of the operator; arm receives the number of matching requests to skip.
	intrudeWith := func(ctx context.Context, method, how string) (operator, namespace string, arm func(passing int)) {
		GinkgoHelper()
		namespace, operator = newNamespace(ctx), newOperatorName()
		object := newConfigMap(namespace, "settings")
		m := &intruder{method: method, path: "/" + namespace + "/configmaps/settings"}
		runOperator(operator, operatorOptions{transport: m.wrap})
		return operator, namespace, func(passing int) {
			m.arm(passing, func() {
				defer GinkgoRecover()
				if how == "recreated" {
					Expect(k8s.Delete(ctx, object.DeepCopy())).To(Succeed())
					Expect(k8s.Create(ctx, object.DeepCopy())).To(Succeed())
				}
				patchAs(ctx, "others.example.com", object.DeepCopy(), fmt.Sprintf(`{"metadata":{%s},"data":{"value":"theirs"}}`,
					strings.ReplaceAll(marks, `{"others`, fmt.Sprintf(`{"%s/owner-id":null,"others`, operator))))
			})
		}
	}
	manifest := func(operator, policy, value string) string {
		return configMap("settings", value, fmt.Sprintf("%s/update-policy: %s", operator, policy))
	}

	for _, policy := range []string{"ssa-override", "ssa-merge", "replace"} {
		method := http.MethodPatch
		if policy == "replace" {
			method = http.MethodGet // A replace writes over the object that it has read.
		}
		It("an object that was recreated by another owner is not overwritten with the update policy "+
			policy, func(ctx SpecContext) {
			operator, namespace, arm := intrudeWith(ctx, method, "recreated")
			g := newGadget(ctx, namespace, "app", manifest(operator, policy, "a"), servedBy(operator))
			expectReady(ctx, g)
			arm(0)
			changeManifests(ctx, g, manifest(operator, policy, "b"))
			expectCondition(ctx, g, metav1alpha1.ConditionStalled, "True OwnershipConflict")
			found := &corev1.ConfigMap{}
			Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "settings"}, found)).To(Succeed())
			Expect(found.Data).To(Equal(map[string]string{"value": "theirs"}))
			Expect(notesOf(ctx, namespace, metav1alpha1.ReasonDependentFailed)).To(BeEmpty(),
				"the conflict must not be reported as a failed dependent")
		})
	}

	It("an object that another owner took over in the meantime is not adopted", func(ctx SpecContext) {
		operator, namespace, arm := intrudeWith(ctx, http.MethodPatch, "taken over")
		object := newConfigMap(namespace, "settings")
		Expect(k8s.Create(ctx, object)).To(Succeed())
		arm(1) // The first request is the create, which fails because the object exists.
		g := newGadget(ctx, namespace, "app", manifest(operator, "ssa-override", "a"), servedBy(operator))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, "True OwnershipConflict")
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
		Expect(object.Data).To(Equal(map[string]string{"value": "theirs"}))
	})

	for _, policy := range []string{"ssa-override", "replace"} {
		It("an object that another tool marked in the meantime is not adopted with the update policy "+
			policy, func(ctx SpecContext) {
			operator, namespace := newOperatorName(), newNamespace(ctx)
			object := newConfigMap(namespace, "settings")
			m := &intruder{method: http.MethodGet, path: "/" + namespace + "/configmaps/settings"}
			runOperator(operator, operatorOptions{transport: m.wrap})
			object.Data = map[string]string{"value": "before"}
			Expect(k8s.Create(ctx, object, client.FieldOwner("kubectl-create"))).To(Succeed())
			// The first read shows who has the object, and the second one is part of the adoption.
			m.arm(1, func() {
				defer GinkgoRecover()
				patchAs(ctx, "helm", newConfigMap(namespace, "settings"),
					`{"metadata":{"annotations":{"meta.helm.sh/release-name":"web"}},"data":{"value":"theirs"}}`)
			})
			g := newGadget(ctx, namespace, "app", manifest(operator, policy, "a"), servedBy(operator))
			expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True OwnershipConflict"),
				ContainSubstring("it belongs to the Helm release web")))
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
			Expect(object.Data).To(Equal(map[string]string{"value": "theirs"}))
		})
	}

	for _, how := range []string{"recreated", "taken over"} {
		It("an object that was "+how+" by another owner in the meantime is not deleted", func(ctx SpecContext) {
			operator, namespace, arm := intrudeWith(ctx, http.MethodDelete, how)
			g := newGadget(ctx, namespace, "app", manifest(operator, "ssa-override", "a"), servedBy(operator))
			expectReady(ctx, g)
			arm(0)
			remove(ctx, g)
			expectNotFound(ctx, g)
			Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "settings"}, newConfigMap("", ""))).To(Succeed())
		})
	}
})

var _ = Describe("The deletion of workloads:", func() {
	It("a workload that is pruned or deleted counts as deleted only when its pods no longer exist", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		pods := func() int {
			GinkgoHelper()
			list := &corev1.PodList{}
			Expect(k8s.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
			return len(list.Items)
		}
		g := newGadget(ctx, namespace, "app", together(configMap("settings", "a"), deployment("web")))
		expectReady(ctx, g)
		pod := podOf(ctx, namespace, "web")
		hold(ctx, pod)
		changeManifests(ctx, g, configMap("settings", "a"))
		Eventually(ctx, func() []metav1alpha1.DependentReport { return current(ctx, g).Status.Waiting }).Should(
			ContainElement(HaveField("Dependent", ContainSubstring("Deployment.apps "+namespace+"/web"))))
		letGo(ctx, pod)
		expectReady(ctx, g)
		Expect(pods()).To(BeZero())

		changeManifests(ctx, g, together(configMap("settings", "a"), deployment("web")))
		expectReady(ctx, g)
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(pods()).To(BeZero())
	})
})
