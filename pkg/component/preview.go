package component

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources"
	"github.com/fairlead-io/fairlead/pkg/component/internal/preview"
	"github.com/fairlead-io/fairlead/pkg/component/internal/reconcile"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/component/internal/transport"
	"github.com/fairlead-io/fairlead/pkg/component/internal/wiring"
)

// OpenPreview gives a Preview of package preview a pass whose collaborators only make dry runs, and the simulator that
// holds the forecast. The reconciler must not be registered with a manager, because OpenPreview sets what the
// registration sets. Only that package can call it.
func (r *Reconciler[T]) OpenPreview(ctx context.Context, p wiring.Preview) (*reconcile.Pass, *preview.Simulator, error) {
	config, err := transport.DryRunOnly(p.Config)
	if err != nil {
		return nil, nil, err
	}
	if r.ignore, err = r.options.ignoreRules(r.name); err != nil {
		return nil, nil, err
	}
	if r.gvk, err = apiutil.GVKForObject(p.Component, p.Scheme); err != nil {
		return nil, nil, err
	}
	local, err := r.connect(ctx, config)
	if err != nil {
		return nil, nil, err
	}
	reader, err := client.New(config, client.Options{
		Scheme: p.Scheme, HTTPClient: local.HTTP(), Mapper: local.Discovery.Mapper(),
	})
	if err != nil {
		return nil, nil, err
	}
	built, err := r.build(ctx, local, p.Scheme, r.newStores(reader, reader), p.Fetcher)
	if err != nil {
		return nil, nil, err
	}
	wakes := make(chan struct{}, 1)
	r.triggers.start(func(types.NamespacedName) {
		select {
		case wakes <- struct{}{}:
		default:
		}
	}, nil)
	simulator := &preview.Simulator{Applier: built.applier, Wakes: wakes}
	return &r.newRunner(built, r.previewPorts(p, built, simulator)).Pass, simulator, nil
}

// connectOnce returns a function that connects once. A preview may make several passes, and all of them are over the
// same component, so they connect to the same cluster.
func connectOnce(connect connectFunc) connectFunc {
	var connected *target.Connection
	return func(ctx context.Context, config *rest.Config) (*target.Connection, error) {
		if connected != nil {
			return connected, nil
		}
		var err error
		connected, err = connect(ctx, config)
		return connected, err
	}
}

// connectFunc connects to the cluster of a configuration.
type connectFunc func(context.Context, *rest.Config) (*target.Connection, error)

// previewPorts returns the ports of a preview: they read instead of watching, and write nothing.
func (r *Reconciler[T]) previewPorts(p wiring.Preview, built parts, simulator *preview.Simulator) reconcile.Ports {
	inputs := preview.Inputs{Reader: built.inputs, Contents: p.Contents, Credentials: p.Credentials}
	return reconcile.Ports{
		Owners: preview.Owners{Owners: built.owners},
		Targets: preview.Targets{
			Local: built.local, User: p.User, DefaultServiceAccount: r.options.DefaultServiceAccount, Inputs: inputs,
			Clock: clock.RealClock{}, Connect: connectOnce(r.connect),
		},
		Inputs:    inputs,
		Inventory: preview.Inventory{ComponentRecord: r.record(built, nil), Simulator: simulator},
		Rendering: built.rendering, Applier: simulator,
		EventSources: eventsources.Fixed(p.Inputs), Tell: func(components.Object, status.Event) {},
	}
}
