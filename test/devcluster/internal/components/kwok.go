package components

import (
	"github.com/spf13/pflag"
	"sigs.k8s.io/kwok/pkg/config"
	kwok "sigs.k8s.io/kwok/pkg/kwok/cmd"
	"sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/signals"
)

// runKwok does the same as kwok's main function, which stores a logger and the configuration in the context of the
// command.
func runKwok() int {
	global := pflag.NewFlagSet("global", pflag.ContinueOnError)
	global.ParseErrorsAllowlist.UnknownFlags = true
	global.Usage = func() {}

	ctx, logger := log.InitFlags(signals.SetupSignalContext(), global)
	ctx, err := config.InitFlags(ctx, global)
	if err != nil {
		logger.Error("Read the configuration", "err", err)
		return 1
	}
	command := kwok.NewCommand(ctx)
	command.PersistentFlags().AddFlagSet(global)
	// The components of Kubernetes register a global flag "version" that is not a bool, and cobra would use this flag for
	// its own version flag.
	command.Version = ""
	if err := command.ExecuteContext(ctx); err != nil {
		logger.Error("Run", "err", err)
		return 1
	}
	return 0
}
