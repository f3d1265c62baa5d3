package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // The authentication plugins of kubectl.
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
)

func main() {
	os.Exit(run())
}

func run() int {
	ctx, stop := interruptible(context.Background())
	defer stop()
	// Libraries log errors and return them as well. Their log is discarded, because the program prints returned errors.
	klog.SetLogger(logr.Discard())
	ctrllog.SetLogger(logr.Discard())
	return cli.Run(ctx, os.Args, genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr})
}

// interruptible returns a context that the first SIGINT or SIGTERM cancels, with an exit.SignalError as the cause. A
// second signal ends the program at once.
func interruptible(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		select {
		case <-ctx.Done():
		case received := <-signals:
			signal.Stop(signals)
			cancel(exit.SignalError{Signal: received})
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}
