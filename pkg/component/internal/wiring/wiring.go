package wiring

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/input"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// Engine is what an engine is made of.
type Engine struct {
	// Reconciler is the name of the reconciler.
	Reconciler string

	// Applier and Connect are set by component.Options. The watches of a connection end with its context.
	Applier *applier.Applier
	Connect func(ctx context.Context, config *rest.Config) (*target.Connection, error)
}

// Preview is what a preview asks of a reconciler.
type Preview struct {
	// Config is the configuration of a client for the cluster of the component, and Scheme contains the type of the
	// component.
	Config *rest.Config
	Scheme *runtime.Scheme
	// Component is the component.
	Component components.Object
	// Fetcher fetches the source of the component; it may be nil.
	Fetcher input.Fetcher
	// Contents replace the contents of referenced objects, and Credentials includes references with credentials.
	Contents    generator.References
	Credentials bool
	// Inputs are the values of event sources.
	Inputs map[string]any
	// User is impersonated; see preview.Preview.
	User string
}
