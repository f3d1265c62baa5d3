package e2e_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fairlead-io/fairlead/test/program"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// operatorUser is the user name of the ServiceAccount in config/rbac.
const operatorUser = "system:serviceaccount:fairlead-system:fairlead-operator"

var (
	identity       testcluster.User
	operatorBinary string
)

// buildOperator builds the tested program. The go command skips a program that is up to date.
func buildOperator(ctx context.Context) {
	GinkgoHelper()
	const root = "../.."
	var err error
	operatorBinary, err = filepath.Abs(filepath.Join(root, "bin", "e2e", "fairlead-operator"))
	Expect(err).NotTo(HaveOccurred())
	Expect(program.Build(ctx, root, operatorBinary, "./cmd/fairlead-operator")).To(Succeed())
}

// process is a running operator.
type process struct {
	command *exec.Cmd
	log     string
	ended   bool
}

// startOperator runs the operator until the spec ends, or until it is killed.
func startOperator(kubeconfig string, arguments ...string) *process {
	GinkgoHelper()
	arguments = append(arguments, "--kubeconfig="+kubeconfig, "--metrics-bind-address=0", "--health-probe-bind-address=0")
	p := &process{command: exec.Command(operatorBinary, arguments...)}
	log, err := os.Create(filepath.Join(GinkgoT().TempDir(), "operator.log"))
	Expect(err).NotTo(HaveOccurred())
	p.log = log.Name()
	p.command.Stdout, p.command.Stderr = log, log
	Expect(p.command.Start()).To(Succeed())
	Expect(log.Close()).To(Succeed(), "the process has its own file handle")
	DeferCleanup(p.kill)
	return p
}

// kill ends the operator by SIGKILL, which the operator cannot handle. Further calls do nothing.
func (p *process) kill() {
	if p.ended {
		return
	}
	p.ended = true
	_ = p.command.Process.Kill()
	_ = p.command.Wait() // "signal: killed" is what it says.
	if content, err := os.ReadFile(p.log); err == nil {
		AddReportEntry("log of the operator", ReportEntryVisibilityFailureOrVerbose, string(content))
	}
}
