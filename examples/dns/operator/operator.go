package operator

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/generator/gotemplate"
)

// Name is the name of the reconciler, and the prefix of its annotations.
const Name = "dns.example.com"

//go:embed templates
var templates embed.FS

// Options configure the operator.
//
// +kubebuilder:object:generate=false
type Options struct {
	// ServiceURL is the URL of the DNS service.
	ServiceURL string
	// Poll is the time between two observations of a record; a minute by default.
	Poll time.Duration
	// Timeout is the time-out of a call to the service; 30 seconds by default.
	Timeout time.Duration
	// Transport sends the requests to the service; http.DefaultTransport by default.
	Transport http.RoundTripper
	// Namespace is the namespace of the sites that the operator serves; all namespaces by default.
	Namespace string
	// SkipNameValidation lets a test run the operator several times in one process.
	SkipNameValidation bool
}

// Driver returns the driver of the kind Record.
func Driver(o Options) external.Driver {
	return external.Of("Record", Records{URL: o.ServiceURL, Transport: o.Transport}, external.Options[RecordSpec]{
		Poll:          o.Poll,
		Timeout:       o.Timeout,
		IdempotentFor: 30 * time.Second, // The service remembers a key for a minute.
		Settle:        2 * time.Second,
	})
}

// NewManager returns a manager with the operator. The caller starts the manager.
func NewManager(config *rest.Config, o Options) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), AddToScheme(scheme)); err != nil {
		return nil, err
	}
	options := ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}}
	if o.Namespace != "" {
		options.Cache.DefaultNamespaces = map[string]cache.Config{o.Namespace: {}}
	}
	manager, err := ctrl.NewManager(config, options)
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
	reconciler := component.NewReconciler[*Site](Name, renderer, component.Options{
		Externals:          []external.Driver{Driver(o)},
		SkipNameValidation: o.SkipNameValidation,
	})
	return manager, reconciler.SetupWithManager(manager)
}
