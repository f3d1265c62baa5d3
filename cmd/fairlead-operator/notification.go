package main

import (
	"context"
	"flag"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/fairlead-io/fairlead/internal/notification"
)

// eventOptions are the flags for Events.
type eventOptions struct {
	// address is the URL to which Events about components are posted; empty posts none.
	address string
	// dependents creates Events about dependents, too.
	dependents bool
}

// bind binds the flags.
func (o *eventOptions) bind(flags *flag.FlagSet) {
	flags.BoolVar(&o.dependents, "dependent-events", false,
		"also create Events about dependents that were adopted, were repaired, or failed: one for each reason and revision, "+
			"and at most ten for each component, reason and revision")
	flags.StringVar(&o.address, "events-address", "",
		"URL of Flux's notification-controller, to which all Events are also posted, such as\n"+
			"http://notification-controller.flux-system.svc.cluster.local; by default none")
}

// validate checks the flags. The error does not contain the address, because a URL can contain a password.
func (o eventOptions) validate() error {
	if o.address == "" {
		return nil
	}
	if _, err := notification.ParseAddress(o.address); err != nil {
		return fmt.Errorf("--events-address: %w", err)
	}
	return nil
}

// post returns a manager whose recorders also post their Events, if there is an address. stop must be called when the
// manager has ended. It posts the last Events.
func (o eventOptions) post(ctx context.Context, mgr ctrl.Manager) (_ ctrl.Manager, stop func(), err error) {
	if o.address == "" {
		return mgr, func() {}, nil
	}
	address, err := notification.ParseAddress(o.address)
	if err != nil {
		return nil, nil, err
	}
	poster, err := notification.New(address, ctrl.Log.WithName("notification"), metrics.Registry)
	if err != nil {
		return nil, nil, err
	}
	return poster.Manager(mgr), poster.Start(ctx), nil
}
