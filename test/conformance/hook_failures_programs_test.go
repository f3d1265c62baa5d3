//go:build programs

package conformance_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing/fstest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator/helm"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// failingChart returns the files of a chart with three hooks for the same events. The second hook fails while the
// driver says so. The first hook has the delete policy hook-succeeded.
func failingChart(d *hookDriver, kind, events, policies string) map[string]string {
	hook := func(apiVersion, kind, name, policies string, weight int, more string) string {
		if policies != "" {
			policies = "\n    helm.sh/hook-delete-policy: " + policies
		}
		return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n  labels: {driven: %s}\n  annotations:\n"+
			"    helm.sh/hook: %s\n    helm.sh/hook-weight: %q%s\n%s",
			apiVersion, kind, name, d.id, events, fmt.Sprint(weight), policies, more)
	}
	second := hook("v1", "Pod", "h1-fails", policies, 0, "spec:\n"+indent(drivenPod, 2))
	if kind == "Job" {
		second = hook("batch/v1", "Job", "h1-fails", policies, 0,
			"spec:\n  backoffLimit: 0\n  template:\n    metadata: {labels: {driven: "+d.id+"}}\n    spec:\n"+
				indent(drivenPod, 6))
	}
	return map[string]string{
		"Chart.yaml":        "apiVersion: v2\nname: failing\nversion: 1.0.0\n",
		"templates/h0.yaml": hook("v1", "ConfigMap", "h0-first", "before-hook-creation,hook-succeeded", -1, ""),
		"templates/h1.yaml": second,
		"templates/h2.yaml": hook("v1", "ConfigMap", "h2-later", "", 1, ""),
		"templates/setting.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n" +
			"data: {value: {{ quote .Values.manifests }}}\n",
	}
}

// indent indents each line of a text.
func indent(text string, by int) string {
	prefix := strings.Repeat(" ", by)
	return prefix + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+prefix) + "\n"
}

// failure is a hook that fails in the namespaces of Helm and of an operator.
type failure struct {
	driver                                *hookDriver
	chart, operator, theirs, ours, policy string
	plural                                string
	mark                                  auditMark
	gadget                                *gadget.Gadget
}

// newFailure writes the chart for a failing hook and runs an operator.
func newFailure(ctx context.Context, d *hookDriver, kind, events, policies string) *failure {
	GinkgoHelper()
	f := &failure{
		driver: d, operator: newOperatorName(), theirs: namespaceForPods(ctx), ours: namespaceForPods(ctx), policy: policies,
		plural: strings.ToLower(kind) + "s",
	}
	files := failingChart(d, kind, events, policies)
	f.chart = writeChart(files)
	source := fstest.MapFS{}
	for name, text := range files {
		source[name] = &fstest.MapFile{Data: []byte(text)}
	}
	charts, err := helm.New(source, helm.Options{AnnotationPrefix: f.operator})
	Expect(err).NotTo(HaveOccurred())
	runOperator(f.operator, operatorOptions{generate: charts})
	return f
}

// begin sets the outcome of the second hook and marks the audit log.
func (f *failure) begin(ctx context.Context, fails bool) {
	GinkgoHelper()
	f.driver.fails.Store(fails)
	f.mark = markAudit(ctx)
}

// apply installs or upgrades the chart with a value, by Helm and by the operator.
func (f *failure) apply(ctx context.Context, command, value string, fails bool) {
	GinkgoHelper()
	f.begin(ctx, fails)
	run := runHelmOn
	if fails {
		run = failHelm
	}
	run(ctx, f.chart, f.theirs, command, "--set", "manifests="+value)
	if f.gadget == nil {
		f.gadget = newGadget(ctx, f.ours, "demo", value, servedBy(f.operator))
	} else {
		changeManifests(ctx, f.gadget, value)
	}
	if !fails {
		expectReady(ctx, f.gadget)
	}
}

func (f *failure) byHelm(ctx context.Context) []string {
	GinkgoHelper()
	return ofHooks(tale(auditEvents(ctx)[f.mark:].Where(func(e testcluster.Event) bool {
		return strings.HasPrefix(
			e.UserAgent, "Helm/")
	}), f.theirs))
}

func (f *failure) byUs(ctx context.Context) []string {
	GinkgoHelper()
	return ofHooks(tale(requestsSince(ctx, f.mark, f.operator), f.ours))
}

// expectFailure expects that the operator makes the same requests as Helm, except that it does not delete the first
// hook.
func (f *failure) expectFailure(ctx context.Context) {
	GinkgoHelper()
	const deleted = "delete configmaps/h0-first"
	want := f.byHelm(ctx)
	Expect(want).To(ContainElement("create "+f.plural+"/h1-fails"), "Helm did not run the hook")
	Expect(want[len(want)-1]).To(Equal(deleted))
	expectCondition(ctx, f.gadget, metav1alpha1.ConditionStalled,
		And(HavePrefix("True DependentFailed"), ContainSubstring("h1-fails")))
	Eventually(ctx, func() []string { return f.byUs(ctx) }).Should(Equal(want[:len(want)-1]))
	settle(ctx, f.operator)
	Expect(f.byUs(ctx)).To(Equal(want[:len(want)-1]))
}

// expectRecovery expects that the operator makes the same requests as Helm, and recreates the first hook, which still
// exists.
func (f *failure) expectRecovery(ctx context.Context) {
	GinkgoHelper()
	Expect(besides(f.byUs(ctx), f.byHelm(ctx))).To(Equal([]string{"delete configmaps/h0-first"}))
}

// uninstall lets the hook fail during the removal, and then lets it succeed. It does not compare the order of
// deletions, because the operator deletes hooks together with the other dependents.
func (f *failure) uninstall(ctx context.Context, event string) {
	GinkgoHelper()
	f.begin(ctx, true)
	failHelm(ctx, f.chart, f.theirs, "uninstall")
	remove(ctx, f.gadget)
	ours := func() []string { return f.sinceDeletion(f.byUs(ctx)) }
	theirs := f.sinceDeletion(f.byHelm(ctx))
	Expect(theirs[len(theirs)-1]).To(Equal("delete configmaps/h0-first"))
	expectCondition(ctx, f.gadget, metav1alpha1.ConditionStalled,
		And(HavePrefix("True DependentFailed"), ContainSubstring("h1-fails")))
	Eventually(ctx, ours).Should(Equal(theirs[:len(theirs)-1]))
	settle(ctx, f.operator)
	Expect(ours()).To(Equal(theirs[:len(theirs)-1]))

	f.begin(ctx, false)
	if strings.Contains(f.policy, "hook-failed") {
		requestPass(ctx, f.gadget, f.operator)
	} else {
		failed := &unstructured.Unstructured{}
		failed.SetGroupVersionKind(gvk(map[string]string{"jobs": "batch/v1", "pods": "v1"}[f.plural],
			map[string]string{"jobs": "Job", "pods": "Pod"}[f.plural]))
		failed.SetNamespace(f.ours)
		failed.SetName("h1-fails")
		Expect(k8s.Delete(ctx, failed, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
	}
	expectNotFound(ctx, f.gadget)
	Expect(onlyCreates(f.byUs(ctx))).To(Equal([]string{"create " + f.plural + "/h1-fails", "create configmaps/h2-later"}))
	if event == "post-delete" {
		return // Helm has removed the release although the hook failed.
	}
	runHelmOn(ctx, f.chart, f.theirs, "uninstall")
	Expect(onlyCreates(f.byHelm(ctx))).To(Equal([]string{
		"create configmaps/h0-first", "create " + f.plural + "/h1-fails",
		"create configmaps/h2-later",
	}))
}

// sinceDeletion returns the requests of a removal. Requests of the operator before the first create are deletions of
// hooks that existed before.
func (f *failure) sinceDeletion(told []string) []string {
	first := slices.IndexFunc(told, func(step string) bool { return strings.HasPrefix(step, "create ") })
	return told[max(first, 0):]
}

func onlyCreates(told []string) []string {
	return slices.DeleteFunc(slices.Clone(told), func(step string) bool { return !strings.HasPrefix(step, "create ") })
}

// compareFailures lets a hook fail at an event, by Helm and by an operator, and lets the next run of the hook succeed.
func compareFailures(ctx context.Context, kind, event, policies string) {
	GinkgoHelper()
	By(event + " with the policy " + policies)
	d := runHookDriver(ctx)
	_, point, _ := strings.Cut(event, "-")
	switch point {
	case "install":
		f := newFailure(ctx, d, kind, event+","+strings.Replace(event, "install", "upgrade", 1), policies)
		f.apply(ctx, "install", "one", true)
		f.expectFailure(ctx)
		f.apply(ctx, "upgrade", "two", false)
		f.expectRecovery(ctx)
	case "upgrade":
		f := newFailure(ctx, d, kind, event+","+strings.Replace(event, "upgrade", "install", 1), policies)
		f.apply(ctx, "install", "one", false)
		f.apply(ctx, "upgrade", "two", true)
		f.expectFailure(ctx)
		f.apply(ctx, "upgrade", "three", false)
		f.expectRecovery(ctx)
	default:
		f := newFailure(ctx, d, kind, event, policies)
		f.apply(ctx, "install", "one", false)
		f.uninstall(ctx, event)
	}
}

var failingEvents = []string{"pre-install", "post-install", "pre-upgrade", "post-upgrade", "pre-delete", "post-delete"}

// writeChart writes the files of a chart into a folder.
func writeChart(files map[string]string) string {
	GinkgoHelper()
	folder := GinkgoT().TempDir()
	Expect(os.Mkdir(folder+"/templates", 0o750)).To(Succeed())
	for name, text := range files {
		Expect(os.WriteFile(folder+"/"+name, []byte(text), 0o600)).To(Succeed())
	}
	return folder
}

var _ = Describe("Hooks of a chart that fail:", func() {
	It("a hook of a chart that fails, and the hooks before and after it, are created and deleted as by Helm: Job "+
		"with hook-failed", func(ctx SpecContext) {
		for _, event := range failingEvents {
			compareFailures(ctx, "Job", event, "before-hook-creation,hook-failed")
		}
	}, SpecTimeout(hookMatrixTimeout))

	It("a hook of a chart that fails, and the hooks before and after it, are created and deleted as "+
		"by Helm: Pod", func(ctx SpecContext) {
		for _, event := range []string{"post-install", "pre-delete"} {
			compareFailures(ctx, "Pod", event, "")
		}
	}, SpecTimeout(hookMatrixTimeout))
})
