package componenttest_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// What an author writes: how the operator is run, what is installed, and what happens to it. The configuration is that
// of a cluster for tests, such as one of controller-runtime's envtest.
func ExampleRun() {
	test := func(t *testing.T, config *rest.Config, scheme *runtime.Scheme, gen generator.Generator) {
		componenttest.Run(t, componenttest.Scenario[*gadget.Gadget]{
			Config: config, Scheme: scheme, Reconciler: "gadgets.example.com",
			Operator: func(ctx context.Context, config *rest.Config, _ string) error {
				mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
				if err != nil {
					return err
				}
				options := component.Options{SkipNameValidation: true} // Several run in this process, one after the other.
				if err := component.NewReconciler[*gadget.Gadget]("gadgets.example.com", gen, options).
					SetupWithManager(mgr); err != nil {
					return err
				}
				return mgr.Start(ctx)
			},
			Component: func(namespace string) *gadget.Gadget {
				return &gadget.Gadget{
					ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "radio"},
					Spec: gadget.GadgetSpec{Manifests: "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, " +
						"data: {band: FM}}"},
				}
			},
			Steps: []componenttest.Step[*gadget.Gadget]{
				{Name: "upgrade", Change: func(g *gadget.Gadget) {
					g.Spec.Manifests = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {band: DAB}}"
				}},
				{Name: "drift", Disturb: func(ctx context.Context, c client.Client, namespace string) error {
					return c.Delete(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "settings"}})
				}},
			},
			Seeds: []uint64{1, 2, 3},
		})
	}
	_ = test
}
