//go:build programs

package conformance_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing/fstest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator/helm"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// hookMatrixTimeout is the maximum duration of a spec of the matrix. It is long, because Helm runs hooks one after the
// other. longMatrixTimeout applies to the specs of the complete matrix.
const (
	hookMatrixTimeout = 8 * time.Minute
	longMatrixTimeout = 20 * time.Minute
)

// These variables have the events, delete policies and kinds of the matrix, which has a hook for each combination.
var (
	hookEvents = []string{
		"pre-install,pre-upgrade", "post-install,post-upgrade", "pre-install,post-install", "pre-upgrade,post-upgrade",
		"pre-install,post-upgrade", "pre-install,pre-upgrade,post-install,post-upgrade",
		"pre-install,pre-upgrade,post-install,post-upgrade,pre-delete,post-delete",
	}
	hookPolicies = []string{
		"", "before-hook-creation", "hook-succeeded", "before-hook-creation,hook-succeeded",
		"before-hook-creation,hook-failed",
	}
)

// matrixHook is a hook of the matrix.
type matrixHook struct{ kind, name, events, policies string }

// matrixOf returns the hooks of a kind for the given events and policies.
func matrixOf(kind string, events, policies []string) []matrixHook {
	var hooks []matrixHook
	for i, e := range events {
		for j, p := range policies {
			hooks = append(hooks, matrixHook{kind, fmt.Sprintf("h%d%d-%s", i, j, strings.ToLower(kind)), e, p})
		}
	}
	return hooks
}

// template returns the template of a hook whose pods and claims the driver handles. A claim has the setting
// delete-policy, without which it would be neither recreated nor purged.
func (h matrixHook) template(weight int, operator string, d *hookDriver) string {
	annotations := fmt.Sprintf("    helm.sh/hook: %s\n    helm.sh/hook-weight: %q\n", h.events, fmt.Sprint(weight))
	if h.policies != "" {
		annotations += "    helm.sh/hook-delete-policy: " + h.policies + "\n"
	}
	if h.kind == "PersistentVolumeClaim" {
		annotations += "    " + operator + "/delete-policy: delete\n"
	}
	apiVersion, body := "v1", ""
	switch h.kind {
	case "Job":
		apiVersion, body = "batch/v1", `spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 0
      containers: [{name: main, image: "busybox:1"}]
`
	case "Pod":
		body = "spec:\n" + indent(drivenPod, 2)
	case "PersistentVolumeClaim":
		body = "spec: {storageClassName: by-the-test, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
	}
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n  labels: {driven: %s}\n  annotations:\n%s%s",
		apiVersion, h.kind, h.name, d.id, annotations, body)
}

// writeMatrix writes a chart with hooks and a Deployment. The Deployment never becomes ready while the value manifests
// is "held". Some weights are equal, so that Helm orders these hooks by name and kind.
func writeMatrix(hooks []matrixHook, operator string, d *hookDriver) string {
	GinkgoHelper()
	files := map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: matrix\nversion: 1.0.0\n",
		"templates/web.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      {{- if eq .Values.manifests "held" }}
      nodeSelector: {nowhere: "true"}
      {{- end }}
      terminationGracePeriodSeconds: 0
      containers: [{name: main, image: "nginx:1", env: [{name: VALUE, value: {{ quote .Values.manifests }}}]}]
`,
	}
	for i, h := range hooks {
		files["templates/"+h.name+".yaml"] = h.template(i*7%5-2, operator, d)
	}
	return writeChart(files)
}

// ofHooks returns the writes to hooks of the matrix.
func ofHooks(told []string) []string {
	return slices.DeleteFunc(slices.Clone(told), func(step string) bool {
		_, name, _ := strings.Cut(step, "/")
		return !strings.HasPrefix(name, "h") || strings.HasPrefix(step, "update serviceaccounts")
	})
}

var _ = Describe("All combinations of the hooks of a chart:", func() {
	for kind, hooks := range map[string][]matrixHook{
		"Job":                   matrixOf("Job", hookEvents[2:], hookPolicies[1:3]),
		"ServiceAccount":        matrixOf("ServiceAccount", hookEvents, hookPolicies),
		"ConfigMap":             matrixOf("ConfigMap", hookEvents, hookPolicies),
		"Pod":                   matrixOf("Pod", hookEvents[5:], hookPolicies[1:3]),
		"PersistentVolumeClaim": matrixOf("PersistentVolumeClaim", hookEvents[5:], hookPolicies[1:3]),
	} {
		It("hooks of a chart are created and deleted in the same order as by Helm, for each combination of events and "+
			"delete policies: "+kind, func(ctx SpecContext) {
			compareHooks(ctx, hooks)
		}, SpecTimeout(hookMatrixTimeout))
	}

	It("a claim that is a hook of a chart is created once, and neither recreated nor deleted, unless its manifest allows "+
		"its deletion", func(ctx SpecContext) {
		operator, namespace := newOperatorName(), newNamespace(ctx)
		claim := matrixHook{"PersistentVolumeClaim", "h-claim", hookEvents[5], "before-hook-creation,hook-succeeded"}
		text := removeLine(claim.template(0, operator, runHookDriver(ctx)), "delete-policy: delete")
		charts, err := helm.New(fstest.MapFS{
			"Chart.yaml":           {Data: []byte("apiVersion: v2\nname: claim\nversion: 1.0.0\n")},
			"templates/claim.yaml": {Data: []byte(text)},
		}, helm.Options{AnnotationPrefix: operator})
		Expect(err).NotTo(HaveOccurred())
		runOperator(operator, operatorOptions{generate: charts})
		g := newGadget(ctx, namespace, "demo", "one", servedBy(operator))
		expectReady(ctx, g)
		changeManifests(ctx, g, "two")
		expectReady(ctx, g)
		Expect(tale(requestsSince(ctx, 0, operator), namespace)).To(And(
			ContainElement("create persistentvolumeclaims/h-claim"),
			Not(ContainElement("delete persistentvolumeclaims/h-claim"))))
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(mustGet(ctx, "v1", "PersistentVolumeClaim", namespace, "h-claim").GetDeletionTimestamp()).To(BeNil())
	})
})

// namespaceForPods returns a new namespace in which pods can be created.
func namespaceForPods(ctx context.Context) string {
	GinkgoHelper()
	namespace := newNamespace(ctx)
	Eventually(ctx, func() error { _, err := get(ctx, "v1", "ServiceAccount", namespace, "default"); return err }).
		Should(Succeed())
	return namespace
}

// compareHooks installs, upgrades and removes a chart with hooks, by Helm and by an operator, and compares the
// requests.
func compareHooks(ctx context.Context, hooks []matrixHook) {
	GinkgoHelper()
	theirs, ours, operator := namespaceForPods(ctx), namespaceForPods(ctx), newOperatorName()
	chart := writeMatrix(hooks, operator, runHookDriver(ctx))
	charts, err := helm.New(os.DirFS(chart), helm.Options{AnnotationPrefix: operator})
	Expect(err).NotTo(HaveOccurred())
	runOperator(operator, operatorOptions{generate: charts})
	helmSince := func(mark auditMark) []string {
		byHelm := func(e testcluster.Event) bool { return strings.HasPrefix(e.UserAgent, "Helm/") }
		return ofHooks(tale(auditEvents(ctx)[mark:].Where(byHelm), theirs))
	}
	oursSince := func(mark auditMark) []string { return ofHooks(tale(requestsSince(ctx, mark, operator), ours)) }
	// onlyInstalled are the Jobs and Pods that belong only to the installation. An upgrade of the component deletes
	// them.
	var onlyInstalled []string
	for _, h := range hooks {
		if (h.kind == "Job" || h.kind == "Pod") && h.events == "pre-install,post-install" && !strings.Contains(h.policies,
			"succeeded") {
			onlyInstalled = append(onlyInstalled, "delete "+strings.ToLower(h.kind)+"s/"+h.name)
		}
	}

	By("installing a chart that does not become ready")
	mark := markAudit(ctx)
	failHelm(ctx, chart, theirs, "install", "--set", "manifests=held", "--timeout", "20s")
	g := newGadget(ctx, ours, "matrix", "held",
		servedBy(operator), func(g *gadget.Gadget) { g.Spec.RetryInterval = seconds(5) })
	expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False"), ContainSubstring("/web")))
	Expect(helmSince(mark)).NotTo(BeEmpty())
	Expect(oursSince(mark)).To(Equal(helmSince(mark)))

	By("upgrading this chart")
	mark = markAudit(ctx)
	runHelmOn(ctx, chart, theirs, "upgrade", "--set", "manifests=two")
	changeManifests(ctx, g, "two")
	expectReady(ctx, g)
	Expect(helmSince(mark)).NotTo(BeEmpty())
	Expect(besides(oursSince(mark), helmSince(mark))).To(ConsistOf(onlyInstalled))

	By("upgrading a chart that is ready")
	mark = markAudit(ctx)
	runHelmOn(ctx, chart, theirs, "upgrade", "--set", "manifests=three")
	changeManifests(ctx, g, "three")
	expectReady(ctx, g)
	Expect(oursSince(mark)).To(Equal(helmSince(mark)))

	By("uninstalling")
	mark = markAudit(ctx)
	runHelmOn(ctx, chart, theirs, "uninstall")
	remove(ctx, g)
	expectNotFound(ctx, g)
	Expect(onlyCreates(oursSince(mark))).To(Equal(onlyCreates(helmSince(mark))))

	By("installing the chart again")
	theirs, ours = namespaceForPods(ctx), namespaceForPods(ctx)
	mark = markAudit(ctx)
	runHelmOn(ctx, chart, theirs, "install", "--set", "manifests=one")
	g = newGadget(ctx, ours, "matrix", "one", servedBy(operator))
	expectReady(ctx, g)
	Expect(oursSince(mark)).To(Equal(helmSince(mark)))
}

// failHelm runs the helm command and expects it to fail.
func failHelm(ctx context.Context, chart, namespace, command string, arguments ...string) {
	GinkgoHelper()
	output, err := tryHelm(ctx, chart, namespace, command, arguments...)
	Expect(err).To(HaveOccurred(), output)
}

// runHelmOn runs the helm command with a chart.
func runHelmOn(ctx context.Context, chart, namespace, command string, arguments ...string) {
	GinkgoHelper()
	output, err := tryHelm(ctx, chart, namespace, command, arguments...)
	Expect(err).NotTo(HaveOccurred(), output)
}
