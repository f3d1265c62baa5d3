//go:build slow

package e2e_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/test/program"
)

var _ = Describe("The status of an operator that was killed:", func() {
	It("satisfies neither a status nor a wait, and does again when another operator "+
		"holds the Lease", func(ctx SpecContext) {
		namespace, operatorNamespace := newNamespace(ctx), "fairlead-system"
		fairlead := commandLine(ctx, namespace)
		first := startOperator(identity.Kubeconfig, "--leader-elect", "--leader-election-namespace="+operatorNamespace)
		component := newComponent(namespace, "shop",
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {color: blue}}", `{}`)
		Expect(admin.Create(ctx, component)).To(Succeed())
		Eventually(ctx, componentCondition(ctx, component)).Should(HavePrefix("True Ready"))
		code, output := fairlead(ctx, "status", "shop")
		Expect(code).To(Equal(0), output)

		first.kill()
		settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "settings"}}
		Expect(admin.Delete(ctx, settings)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			code, output := fairlead(ctx, "status", "shop")
			g.Expect(output).
				To(MatchRegexp(`Operator: +no operator has held the Lease fairlead-system/fairlead-operator for \d+s`))
			g.Expect(code).To(Equal(1))
		}).WithTimeout(3 * time.Minute).WithPolling(5 * time.Second).Should(Succeed())
		code, output = fairlead(ctx, "resume", "shop", "--wait")
		Expect(code).To(Equal(1), output)
		Expect(output).To(ContainSubstring("has an old status: no operator has held the Lease"))

		startOperator(identity.Kubeconfig, "--leader-elect", "--leader-election-namespace="+operatorNamespace)
		Eventually(ctx, exists(ctx, settings)).Should(BeTrue())
		Eventually(ctx, func() (code int) { code, _ = fairlead(ctx, "status", "shop"); return code }).Should(Equal(0))
	}, SpecTimeout(6*time.Minute))
})

// commandLine builds the program fairlead. The returned function runs it for a namespace as an administrator, and
// returns its exit code and all that it prints.
func commandLine(ctx context.Context, namespace string) func(ctx context.Context, arguments ...string) (int, string) {
	GinkgoHelper()
	const root = "../.."
	path, err := filepath.Abs(filepath.Join(root, "bin", "e2e", "fairlead"))
	Expect(err).NotTo(HaveOccurred())
	Expect(program.Build(ctx, root, path, "./cmd/fairlead")).To(Succeed())
	kubeconfig := cluster.Kubeconfig()
	return func(ctx context.Context, arguments ...string) (int, string) {
		arguments = append(arguments, "--namespace="+namespace, "--kubeconfig="+kubeconfig)
		command := exec.CommandContext(ctx, path, arguments...)
		output, _ := command.CombinedOutput() // The exit code is its error.
		return command.ProcessState.ExitCode(), string(output)
	}
}
