package cli_test

import (
	"bytes"
	"context"
	"os"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli"
)

// fullDisk is a writer whose writes fail, as if the disk were full.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}
}

// expectFull expects that a command line fails if its output cannot be written.
func expectFull(ctx context.Context, args []string) {
	GinkgoHelper()
	var err bytes.Buffer
	code := cli.Run(ctx, args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: fullDisk{}, ErrOut: &err})
	Expect(code).To(Equal(1), strings.Join(args, " "))
	Expect(err.String()).To(HaveSuffix("fairlead: write /dev/stdout: no space left on device\n"), strings.Join(args, " "))
}

var _ = Describe("a full disk", func() {
	DescribeTable("causes an error of a command that prints output", func(ctx SpecContext, line string) {
		GinkgoT().Chdir(folder("web.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n"))
		expectFull(ctx, append([]string{"fairlead"}, strings.Fields(line)...))
	},
		Entry("the version", "version --client"),
		Entry("help", "help tree"),
		Entry("the flag for help", "tree --help"),
		Entry("help without a command", "help"),
		Entry("a help topic", "exit-codes"),
		Entry("completion", "completion bash"),
		Entry("objects", "render ."),
		Entry("roles", "rbac shop --dir ."),
		Entry("files of a project",
			"scaffold new --dry-run --group a.example.com --kind A --operator-name a.example.com --module example.com/a"),
	)
})

var _ = Describe("a full disk", onCluster(func() {
	It("causes an error of a command that reads from a cluster", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		dir := folder("web.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n")
		expectFull(ctx, connected(namespace, "apply", "shop", dir))
		report(ctx, shopIn(ctx, namespace), metav1alpha1.Status{Conditions: readyCondition(metav1.ConditionFalse,
			"DependentsNotReady", "waiting")})
		for _, line := range []string{
			"list", "list -o json", "tree shop", "tree shop -o name", "status shop", "status shop -o yaml", "plan shop",
			"diff shop", "export shop", "suspend shop",
		} {
			expectFull(ctx, connected(namespace, strings.Fields(line)...))
		}
	})
}))
