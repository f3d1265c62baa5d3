// Devcluster runs a throw-away Kubernetes cluster on this machine, from this one binary: it starts itself once per
// component, under the component's name.
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
	// Package initialisation of the components registered a global flag, --version, that is none of this command line.
	pflag.CommandLine = pflag.NewFlagSet(os.Args[0], pflag.ContinueOnError)

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return cli.Run(ctx, os.Args[1:], os.Stdout, os.Stderr)
}
