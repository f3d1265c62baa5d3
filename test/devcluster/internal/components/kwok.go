package components

import (
	"github.com/spf13/pflag"
	"sigs.k8s.io/kwok/pkg/config"
	kwok "sigs.k8s.io/kwok/pkg/kwok/cmd"
	"sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/signals"
)

// runKwok does what kwok's own main function does: kwok finds its logger and its configuration in the context of its
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
	// The Kubernetes components register a global flag "version" that is no bool, and cobra takes it for its own.
	command.Version = ""
	if err := command.ExecuteContext(ctx); err != nil {
		logger.Error("Run", "err", err)
		return 1
	}
	return 0
}
