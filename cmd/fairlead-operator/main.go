package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	_ "time/tzdata" // Templates convert times between time zones, and the image contains no files with time zones.

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/fairlead-io/fairlead/internal/logging"
	"github.com/fairlead-io/fairlead/internal/operator"
	"github.com/fairlead-io/fairlead/internal/version"
	"github.com/fairlead-io/fairlead/pkg/generator/isolate"
)

// The exit codes.
const (
	exitFailed   = 1
	exitBadUsage = 2
)

func main() {
	isolate.Main(operator.NewChildGenerator)
	os.Exit(run(os.Args[1:], os.Stdout, withoutStderr()))
}

func run(args []string, stdout, stderr io.Writer) int {
	o, err := parseOptions(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		printUsage(stdout)
		return 0
	case err != nil:
		_, _ = fmt.Fprintf(stderr, "fairlead-operator: %v; --help lists the flags\n", err)
		return exitBadUsage
	case o.showVersion:
		_, _ = fmt.Fprintln(stdout, version.Version)
		return 0
	}
	logger := logging.WithoutBodies(zap.New(zap.UseFlagOptions(&o.zap), zap.WriteTo(stderr)))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	redirectLibraries(logger)
	if err := serve(ctrl.SetupSignalHandler(), o); err != nil {
		_, _ = fmt.Fprintf(stderr, "fairlead-operator: %v\n", err)
		return exitFailed
	}
	return 0
}
