// Command webpage is an operator for web pages: each WebPage becomes a ConfigMap, a Deployment, a Service and, while it
// is exposed, an Ingress. docs/examples/webpage.md explains it.
package main

import (
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/eventsource"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// reconcilerName is the field owner of all dependents, and the prefix of annotations.
const reconcilerName = "webpages.example.fairlead.io"

// schemaName is the name of the ConfigMap with the allowed elements, in the namespace of each page, and of its event
// source.
const schemaName = "webpage-schema"

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
	reconciler := component.NewReconciler[*WebPage](reconcilerName, generator.For(generate), component.Options{
		Dependents: component.Dependents{Policies: metav1alpha1.Policies{Update: metav1alpha1.UpdateSSAOverride}},
		// The hook needs no request for what it reads.
		Watching: component.Watching{CacheFull: []schema.GroupKind{contentKind, ingressKind}},
	})
	reconciler.WithHooks(reportPages(reconciler))
	allowed := eventsource.Related(schemaName, eventsource.RelatedOptions[*WebPage, *corev1.ConfigMap]{
		Of: func(page *WebPage) []client.ObjectKey {
			return []client.ObjectKey{{Namespace: page.Namespace, Name: schemaName}}
		},
		Part: func(c *corev1.ConfigMap) any { return c.Data },
	})
	if _, err := reconciler.AddEventSource(eventsource.AsInput(allowed)); err != nil {
		return nil, err
	}
	return mgr, reconciler.SetupWithManager(mgr)
}
