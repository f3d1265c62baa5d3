package component

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/internal/logging"
	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/metrics"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/component/internal/telemetry"
	"github.com/fairlead-io/fairlead/pkg/component/internal/tracing"
	"github.com/fairlead-io/fairlead/pkg/component/internal/wiring"
)

// Wire gives an Engine of package engine its parts. Only that package can call it.
func (o Options) Wire(e *wiring.Engine) error {
	o = o.WithDefaults()
	if err := o.Watching.Scope.Check(o.Watching.Namespaces); err != nil {
		return fmt.Errorf("the scope of the watches: %w", err)
	}
	made, err := o.newApplier(e.Reconciler)
	if err != nil {
		return err
	}
	e.Applier = made
	e.Connect = func(ctx context.Context, config *rest.Config) (*target.Connection, error) {
		return o.connect(ctx, e.Reconciler, config)
	}
	return nil
}

// connect connects to a cluster.
func (o Options) connect(ctx context.Context, name string, config *rest.Config) (*target.Connection, error) {
	if err := metrics.Register(); err != nil {
		return nil, fmt.Errorf("register the metrics: %w", err)
	}
	ctx = logging.Context(ctx)
	if err := logging.Check(ctx); err != nil {
		return nil, err
	}
	view, err := o.view(name)
	if err != nil {
		return nil, err
	}
	monitor := o.monitor(name)
	return target.Connect(ctx, config, target.Options{
		Reconciler: name, View: view, Writers: o.Limits.Writers, CacheFull: o.Watching.CacheFull,
		Scope: target.WatchScope(o.Watching.Scope), Namespaces: o.Watching.Namespaces,
		Wrap: monitor.Meter.Transport, Monitor: monitor,
	})
}

// newApplier returns the applier of a reconciler.
func (o Options) newApplier(name string) (*applier.Applier, error) {
	incidental, err := incidentals(o.Dependents.Incidental)
	if err != nil {
		return nil, err
	}
	return applier.New(applier.Options{
		Reconciler:       name,
		Policies:         o.Dependents.Policies,
		PreviousManagers: slices.Concat(plan.PreviousManagers, o.Dependents.PreviousManagers),
		Incidental:       incidental,
		Monitor:          o.monitor(name),
	}), nil
}

func (o Options) monitor(name string) telemetry.Monitor {
	return telemetry.Monitor{Meter: metrics.Shared.Meter(name), Tracer: tracing.New(o.Telemetry.TracerProvider, name)}
}
