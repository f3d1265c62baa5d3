package cli_test

import (
	"bytes"
	"context"
	"io"
	"strings"

	"github.com/creack/pty"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli"
)

// onTerminal executes a command line whose stdout is a terminal, and returns what a person sees there.
func onTerminal(ctx context.Context, args []string) string {
	GinkgoHelper()
	master, terminal, err := pty.Open()
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = master.Close() }()
	seen := make(chan string)
	go func() {
		text, _ := io.ReadAll(master) // The read ends with an error when the terminal is closed.
		seen <- string(text)
	}()
	code := cli.Run(ctx, args, genericiooptions.IOStreams{
		In: strings.NewReader(""), Out: terminal,
		ErrOut: &bytes.Buffer{},
	})
	Expect(terminal.Close()).To(Succeed())
	Expect(code).To(Equal(0))
	return <-seen
}

var _ = Describe("colours", onCluster(func() {
	const escape = "\x1b"

	It("are printed on a terminal, unless they are turned off", func(ctx SpecContext) {
		GinkgoT().Setenv("TERM", "xterm")
		GinkgoT().Setenv("NO_COLOR", "")
		namespace := newNamespace(ctx)
		report(ctx, held(ctx, namespace, "shop"), allReady())
		Expect(onTerminal(ctx, connected(namespace, "list"))).To(ContainSubstring("\x1b[32mReady\x1b[0m"))
		Expect(onTerminal(ctx, connected(namespace, "list", "--no-color"))).
			To(And(ContainSubstring("Ready"), Not(ContainSubstring(escape))))
		Expect(onTerminal(ctx, connected(namespace, "list", "-o=json"))).NotTo(ContainSubstring(escape))
		GinkgoT().Setenv("NO_COLOR", "1")
		Expect(onTerminal(ctx, connected(namespace, "list"))).NotTo(ContainSubstring(escape))
		GinkgoT().Setenv("NO_COLOR", "")
		GinkgoT().Setenv("TERM", "dumb")
		Expect(onTerminal(ctx, connected(namespace, "list"))).NotTo(ContainSubstring(escape))
	})

	It("are not printed into a pipe", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		report(ctx, held(ctx, namespace, "shop"), allReady())
		Expect(fairlead(ctx, namespace, "list").Out).To(And(ContainSubstring("Ready"), Not(ContainSubstring(escape))))
	})
}))
