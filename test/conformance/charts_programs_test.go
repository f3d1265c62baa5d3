//go:build programs

package conformance_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fairlead-io/fairlead/pkg/generator/helm"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// helmProgram is the path of the helm command. The target bin/helm of the Makefile builds it from the Helm version in
// test/tools/go.mod.
const helmProgram = "../../bin/helm"

// runHelm runs the helm command as an administrator, with the chart of the test data, in a namespace.
func runHelm(ctx context.Context, namespace, command string, arguments ...string) {
	GinkgoHelper()
	output, err := tryHelm(ctx, "testdata/hooks", namespace, command, arguments...)
	Expect(err).NotTo(HaveOccurred(), output)
}

// tryHelm runs the helm command as an administrator, with a chart, in a namespace, and returns its output.
func tryHelm(ctx context.Context, chart, namespace, command string, arguments ...string) (string, error) {
	GinkgoHelper()
	Expect(helmProgram).To(BeAnExistingFile(), "run make bin/helm")
	chart, err := filepath.Abs(chart)
	Expect(err).NotTo(HaveOccurred())
	program, err := filepath.Abs(helmProgram)
	Expect(err).NotTo(HaveOccurred())
	line := append([]string{
		command, "demo", "--namespace", namespace, "--kubeconfig", cluster.Kubeconfig(), "--wait",
		"--timeout", "60s",
	}, arguments...)
	if command != "uninstall" {
		line = append(line, chart)
	}
	run := exec.CommandContext(ctx, program, line...)
	run.Env = append(os.Environ(), "HELM_CACHE_HOME="+GinkgoT().TempDir(), "HELM_CONFIG_HOME="+GinkgoT().TempDir(),
		"HELM_DATA_HOME="+GinkgoT().TempDir())
	output, err := run.CombinedOutput()
	return string(output), err
}

// besides returns the elements of ours that theirs does not contain. It fails the spec if ours lacks an element of
// theirs, or has the elements of theirs in another order.
func besides(ours, theirs []string) []string {
	GinkgoHelper()
	var more []string
	rest := theirs
	for _, step := range ours {
		if len(rest) > 0 && rest[0] == step {
			rest = rest[1:]
			continue
		}
		more = append(more, step)
	}
	Expect(rest).To(BeEmpty(), "ours:\n%s\nHelm's:\n%s", strings.Join(ours, "\n"), strings.Join(theirs, "\n"))
	return more
}

var _ = Describe("The hooks of a chart:", func() {
	It("hooks of a chart run in Helm's order at install, upgrade and uninstall", func(ctx SpecContext) {
		theirs, ours, operator := newNamespace(ctx), newNamespace(ctx), newOperatorName()
		charts, err := helm.New(hookChart(), helm.Options{AnnotationPrefix: operator})
		Expect(err).NotTo(HaveOccurred())
		runOperator(operator, operatorOptions{generate: charts})
		helmSince := func(mark auditMark) []string {
			return tale(auditEvents(ctx)[mark:].Where(func(e testcluster.Event) bool {
				return strings.HasPrefix(e.UserAgent,
					"Helm/")
			}), theirs)
		}
		oursSince := func(mark auditMark) []string { return tale(requestsSince(ctx, mark, operator), ours) }

		mark := markAudit(ctx)
		runHelm(ctx, theirs, "install", "--set", "manifests=one")
		g := newGadget(ctx, ours, "demo", "one", servedBy(operator))
		expectReady(ctx, g)
		Expect(helmSince(mark)).To(ContainElements("create jobs/a-before", "delete jobs/b-before", "create deployments/web",
			"create jobs/z-after"))
		Expect(besides(oursSince(mark), helmSince(mark))).To(BeEmpty())

		By("upgrading")
		mark = markAudit(ctx)
		runHelm(ctx, theirs, "upgrade", "--set", "manifests=two")
		changeManifests(ctx, g, "two")
		expectReady(ctx, g)
		Expect(helmSince(mark)).To(ContainElements("delete jobs/a-before", "create jobs/a-before",
			"update configmaps/settings", "create jobs/z-after"))
		Expect(besides(oursSince(mark), helmSince(mark))).To(ConsistOf("delete jobs/installed"),
			"hooks of installations only")

		By("uninstalling")
		mark = markAudit(ctx)
		runHelm(ctx, theirs, "uninstall")
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(helmSince(mark)).To(ContainElements("create jobs/farewell", "delete deployments/web", "create jobs/last"))
		more := besides(oursSince(mark), helmSince(mark))
		Expect(more).To(And(Not(BeEmpty()), HaveEach(HavePrefix("delete "))), "hooks are deleted with their component")
		Expect(slices.Compact(slices.Sorted(slices.Values(more)))).To(HaveLen(len(more)))
	})
})
