// Command devcluster runs a temporary Kubernetes cluster on this machine from a single binary: it starts itself once
// for each component, with the component's name as argv[0].
package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/fairlead-io/fairlead/test/devcluster/internal/cli"
	"github.com/fairlead-io/fairlead/test/devcluster/internal/components"
)

func main() {
	os.Exit(run())
}

func run() int {
	if runComponent, found := components.Lookup(filepath.Base(os.Args[0])); found {
		return runComponent()
	}
	// The components have registered a global flag --version at their initialisation. It is no flag of this program, so
	// the flag set is replaced.
	pflag.CommandLine = pflag.NewFlagSet(os.Args[0], pflag.ContinueOnError)

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return cli.Run(ctx, os.Args[1:], os.Stdout, os.Stderr)
}
