// Command schema is an operator for databases: schemas in MySQL servers outside Kubernetes.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/fairlead-io/fairlead/examples/schema/operator"
)

func main() {
	ctrl.SetLogger(zap.New())
	if err := run(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintf(os.Stderr, "schema: %v\n", err)
		os.Exit(1)
	}
}

// run runs the operator until the context ends. Package config of controller-runtime adds the flag --kubeconfig.
func run(ctx context.Context) error {
	var options operator.Options
	flag.DurationVar(&options.Poll, "poll", time.Minute, "time between two observations of a schema")
	flag.Parse()
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
