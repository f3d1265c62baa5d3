package operator

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/generator/gotemplate"
)

// Name is the name of the reconciler, and the prefix of its annotations.
const Name = "mysql.example.com"

//go:embed templates
var templates embed.FS

// Options configure the operator.
type Options struct {
	// Poll is the time between two observations of a schema; a minute by default.
	Poll time.Duration
	// SkipNameValidation lets a test run the operator several times in one process.
	SkipNameValidation bool
}

// Driver returns the driver of the kind Schema.
func Driver(o Options) external.Driver {
	return external.Of("Schema", Schemas{}, external.Options[SchemaSpec]{
		Poll:   o.Poll,
		Settle: -1, // A server of MySQL shows each write at once.
	})
}

// NewManager returns a manager with the operator. The caller starts the manager.
func NewManager(config *rest.Config, o Options) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), AddToScheme(scheme)); err != nil {
		return nil, err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		return nil, fmt.Errorf("create the manager: %w", err)
	}
	source, err := fs.Sub(templates, "templates")
	if err != nil {
		return nil, err
	}
	renderer, err := gotemplate.New(source, gotemplate.Options{})
	if err != nil {
		return nil, err
	}
	reconciler := component.NewReconciler[*Database](Name, renderer, component.Options{
		Externals:          []external.Driver{Driver(o)},
		SkipNameValidation: o.SkipNameValidation,
	})
	return manager, reconciler.SetupWithManager(manager)
}
