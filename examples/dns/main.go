// Command dns is an operator for sites, whose DNS records are in a service outside Kubernetes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/fairlead-io/fairlead/examples/dns/operator"
)

func main() {
	ctrl.SetLogger(zap.New())
	if err := run(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintf(os.Stderr, "dns: %v\n", err)
		os.Exit(1)
	}
}

// run runs the operator until the context ends. Package config of controller-runtime adds the flag --kubeconfig.
func run(ctx context.Context) error {
	var options operator.Options
	flag.StringVar(&options.ServiceURL, "service", "", "URL of the DNS service")
	flag.DurationVar(&options.Poll, "poll", time.Minute, "time between two observations of a record")
	flag.Parse()
	if options.ServiceURL == "" {
		return errors.New("set --service to the URL of the DNS service")
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	manager, err := operator.NewManager(config, options)
	if err != nil {
		return err
	}
	return manager.Start(ctx)
}
