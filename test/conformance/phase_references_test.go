package conformance_test

import (
	"slices"
	"strings"
	"testing/fstest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/generator/helm"
)

var _ = Describe("Dependents that a deletion phase needs:", func() {
	It("what a Job of the phase post-delete refers to is deleted after the Job", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{})
		job := strings.Replace(oneJob("tell", postDelete(operator)), "restartPolicy",
			"serviceAccountName: teller\n      volumes: [{name: v, configMap: {name: script}}, {name: s, secret: {secretName: "+
				"login}}]\n      restartPolicy", 1)
		g := newGadget(ctx, namespace, "app", together(configMap("script", "a"), configMap("settings", "a"), job,
			"apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: teller}",
			"apiVersion: v1\nkind: Secret\nmetadata: {name: login}",
			"apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: tells}\nrules: []",
			"apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: tells}\n"+
				"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: tells}\n"+
				"subjects: [{kind: ServiceAccount, name: teller, namespace: "+namespace+"}]"),
			servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		mark := markAudit(ctx)
		remove(ctx, g)
		expectNotFound(ctx, g)
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
		for _, needed := range []string{
			"configmaps/script", "secrets/login", "serviceaccounts/teller", "roles/tells",
			"rolebindings/tells",
		} {
			Expect(at).To(HaveKey("delete "+needed), needed)
			Expect(at["delete "+needed]).To(BeNumerically(">", ran), needed)
		}
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
	})

	for _, phase := range []string{"pre-delete", "post-delete"} {
		It("an object with a delete policy that keeps it is applied, applied again in the phase "+phase+
			", and kept", func(ctx SpecContext) {
			namespace, operator := newNamespace(ctx), newOperatorName()
			runOperator(operator, operatorOptions{})
			settings := []string{operator + "/phase: \"apply," + phase + "\"", operator + "/delete-policy: orphan"}
			g := newGadget(ctx, namespace, "app", together(configMap("settings", "a"), configMap("shared", "a", settings...),
				oneJob("task", settings...)), servedBy(operator))
			expectReady(ctx, g)
			settle(ctx, operator)
			before := mustGet(ctx, "batch/v1", "Job", namespace, "task").GetUID()
			shared := mustGet(ctx, "v1", "ConfigMap", namespace, "shared").GetUID()
			remove(ctx, g)
			expectNotFound(ctx, g)
			Expect(configMapExists(ctx, namespace, "settings")).To(BeFalse())
			for _, o := range []*unstructured.Unstructured{
				mustGet(ctx, "v1", "ConfigMap", namespace, "shared"),
				mustGet(ctx, "batch/v1", "Job", namespace, "task"),
			} {
				Expect(o.GetLabels()).NotTo(HaveKey(operator+"/owner-id"), o.GetKind())
			}
			Expect(mustGet(ctx, "batch/v1", "Job", namespace, "task").GetUID()).NotTo(Equal(before), "want the Job to run again")
			Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "shared").GetUID()).To(Equal(shared))
		})
	}

	It("a chart with its own namespace, and with a post-delete hook whose account is a pre-install hook, is "+
		"installed and deleted", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		hook := func(text, events string) *fstest.MapFile {
			return &fstest.MapFile{Data: []byte(strings.Replace(text, "metadata: {", "metadata: {annotations: {helm.sh/hook: "+
				events+"}, ", 1))}
		}
		job := strings.Replace(oneJob("tell", "helm.sh/hook: post-delete"), "restartPolicy",
			"serviceAccountName: teller\n      restartPolicy", 1)
		charts, err := helm.New(fstest.MapFS{
			"Chart.yaml": {Data: []byte("apiVersion: v2\nname: tells\nversion: 1.0.0\n")},
			"templates/namespace.yaml": {Data: []byte("apiVersion: v1\nkind: Namespace\n" +
				"metadata: {name: {{ .Release.Namespace }}, labels: {part: a}}\n")},
			"templates/settings.yaml": {Data: []byte(configMap("settings", "a"))},
			"templates/script.yaml":   hook("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: script}\n", "pre-install"),
			"templates/account.yaml":  hook("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: teller}\n", "pre-install"),
			"templates/role.yaml": hook("apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\n"+
				"metadata: {name: tells}\nrules: []\n", "pre-install"),
			"templates/job.yaml": {Data: []byte(job)},
		}, helm.Options{AnnotationPrefix: operator})
		Expect(err).NotTo(HaveOccurred())
		runOperator(operator, operatorOptions{generate: charts})
		g := newGadget(ctx, namespace, "app", "", servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		mark := markAudit(ctx)
		remove(ctx, g)
		expectNotFound(ctx, g)
		done := story(ctx, mark, operator, namespace)
		Expect(slices.Index(done, "delete serviceaccounts/teller")).
			To(BeNumerically(">", slices.IndexFunc(done, func(step string) bool {
				return strings.HasSuffix(step, " jobs/tell")
			})), strings.Join(done, "\n"))
		Expect(done).To(ContainElements("delete configmaps/settings", "delete configmaps/script", "delete roles/tells"))
		left := mustGet(ctx, "v1", "Namespace", "", namespace)
		Expect(left.GetDeletionTimestamp()).To(BeNil())
		Expect(left.GetLabels()).NotTo(HaveKey(operator + "/owner-id"))
	})
})
