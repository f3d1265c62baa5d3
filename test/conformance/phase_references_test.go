package conformance_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var _ = Describe("Dependents that a deletion phase needs:", func() {
	It("what a Job of the phase post-delete refers to is deleted after the Job", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{})
		job := strings.Replace(oneJob("tell", postDelete(operator)), "restartPolicy",
			"serviceAccountName: teller\n      volumes: [{name: v, configMap: {name: script}}, {name: s, secret: {secretName: login}}]\n      restartPolicy", 1)
		g := newGadget(ctx, namespace, "app", together(configMap("script", "a"), configMap("settings", "a"), job,
			"apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: teller}", "apiVersion: v1\nkind: Secret\nmetadata: {name: login}",
			"apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: tells}\nrules: []",
			"apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: tells}\n"+
				"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: tells}\nsubjects: [{kind: ServiceAccount, name: teller, namespace: "+namespace+"}]"),
			servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		mark := markAudit(ctx)
		remove(ctx, g)
		expectGone(ctx, g)
		done := story(ctx, mark, operator, namespace)
		ran := -1
		at := map[string]int{}
		for i, step := range done {
			if step == "patch jobs/tell" || step == "create jobs/tell" {
				ran = i
			}
			at[step] = i
		}
		Expect(ran).To(BeNumerically(">", at["delete configmaps/settings"]), strings.Join(done, "\n"))
		for _, needed := range []string{"configmaps/script", "secrets/login", "serviceaccounts/teller", "roles/tells", "rolebindings/tells"} {
			Expect(at).To(HaveKey("delete "+needed), needed)
			Expect(at["delete "+needed]).To(BeNumerically(">", ran), needed)
		}
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
	})

	for _, phase := range []string{"pre-delete", "post-delete"} {
		It("an object with a delete policy that keeps it is applied, applied again in the phase "+phase+", and kept", func(ctx SpecContext) {
			namespace, operator := newNamespace(ctx), newOperatorName()
			runOperator(operator, operatorOptions{})
			settings := []string{operator + "/phase: \"apply," + phase + "\"", operator + "/delete-policy: orphan"}
			g := newGadget(ctx, namespace, "app", together(configMap("settings", "a"), configMap("shared", "a", settings...), oneJob("task", settings...)), servedBy(operator))
			expectReady(ctx, g)
			settle(ctx, operator)
			before := mustGet(ctx, "batch/v1", "Job", namespace, "task").GetUID()
			shared := mustGet(ctx, "v1", "ConfigMap", namespace, "shared").GetUID()
			remove(ctx, g)
			expectGone(ctx, g)
			Expect(configMapExists(ctx, namespace, "settings")).To(BeFalse())
			for _, o := range []*unstructured.Unstructured{mustGet(ctx, "v1", "ConfigMap", namespace, "shared"), mustGet(ctx, "batch/v1", "Job", namespace, "task")} {
				Expect(o.GetLabels()).NotTo(HaveKey(operator+"/owner-id"), o.GetKind())
			}
			Expect(mustGet(ctx, "batch/v1", "Job", namespace, "task").GetUID()).NotTo(Equal(before), "want the Job to run again")
			Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "shared").GetUID()).To(Equal(shared))
		})
	}
})
