// Command fleet is an operator for a fleet of clusters: each Member gets an agent in its cluster, which follows the
// zones of the nodes there. docs/examples/fleet.md explains it.
package main

import (
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/eventsource"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// reconcilerName is the field owner of all dependents, and the prefix of annotations. nodesName is the name of the
// event source of nodes.
const (
	reconcilerName = "fleet.example.fairlead.io"
	nodesName      = "nodes"
)

func main() {
	ctrl.SetLogger(zap.New())
	mgr, err := newManager(ctrl.GetConfigOrDie(), ctrl.Options{})
	if err == nil {
		err = mgr.Start(ctrl.SetupSignalHandler())
	}
	if err != nil {
		ctrl.Log.Error(err, "the operator ended")
		os.Exit(1)
	}
}

// newManager returns a manager with the operator.
func newManager(config *rest.Config, o ctrl.Options) (ctrl.Manager, error) {
	o.Scheme = runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(o.Scheme); err != nil {
		return nil, err
	}
	addToScheme(o.Scheme)
	mgr, err := ctrl.NewManager(config, o)
	if err != nil {
		return nil, err
	}
	// The watch of a cluster begins with its first member, and ends with the last one.
	nodes := eventsource.Related(nodesName, eventsource.RelatedOptions[*Member, *corev1.Node]{
		All: true, InTarget: true, Part: zoneOf, Whole: true,
	})
	reconciler := component.NewReconciler[*Member](reconcilerName, generator.For(generate), component.Options{
		Dependents: component.Dependents{Policies: metav1alpha1.Policies{Update: metav1alpha1.UpdateSSAOverride}},
	})
	reconciler.WithHooks(component.Hooks[*Member]{PostReconcile: report(reconciler.UpdateStatus, nodes)})
	if _, err := reconciler.AddEventSource(eventsource.AsInput(nodes)); err != nil {
		return nil, err
	}
	return mgr, reconciler.SetupWithManager(mgr)
}
