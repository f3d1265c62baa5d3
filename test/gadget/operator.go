package gadget

import (
	"context"
	_ "embed" // the custom resource definition

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// CRD is the custom resource definition of Gadget.
//
//go:embed crd.yaml
var CRD []byte

// Generate returns the manifests of a gadget.
var Generate = generator.GeneratorFunc(func(_ context.Context, req generator.Request) ([]client.Object, error) {
	text, _ := req.Parameters["manifests"].(string)
	decoded, err := manifests.Decode("spec.manifests", []byte(text))
	if err != nil {
		return nil, err
	}
	objects := make([]client.Object, 0, len(decoded))
	for _, d := range decoded {
		objects = append(objects, d)
	}
	return objects, nil
})

// Scheme returns a scheme with Gadget and the types of Kubernetes.
func Scheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(s); err != nil {
		return nil, err
	}
	return s, AddToScheme(s)
}

// NewManager returns a manager that runs the operator.
func NewManager(config *rest.Config, name string, g generator.Generator, o component.Options) (ctrl.Manager, error) {
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		return nil, err
	}
	return mgr, component.NewReconciler[*Gadget](name, g, o).SetupWithManager(mgr)
}
