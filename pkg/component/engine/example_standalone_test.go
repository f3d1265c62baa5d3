package engine_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/pkg/component/engine"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// This controller makes a Deployment and a Service for each ConfigMap with a page. The engine applies them in their
// order, waits until they are ready, repairs them, and deletes them before the ConfigMap disappears.
func ExampleNewStandalone() {
	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{})
	if err != nil {
		panic(err)
	}
	ctx := ctrl.SetupSignalHandler()
	if err := setUpPages(ctx, mgr); err != nil {
		panic(err)
	}
	if err := mgr.Start(ctx); err != nil {
		panic(err)
	}
}

type pages struct {
	client client.Client
	engine *engine.Standalone
}

func (p *pages) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	page := &corev1.ConfigMap{}
	if err := p.client.Get(ctx, req.NamespacedName, page); apierrors.IsNotFound(err) {
		owner := manifests.Owner{Kind: "ConfigMap", Namespace: req.Namespace, Name: req.Name}
		return reconcile.Result{}, p.engine.Forget(ctx, owner)
	} else if err != nil || page.Data["page"] == "" {
		return reconcile.Result{}, err
	}
	render := func(context.Context) ([]*unstructured.Unstructured, error) {
		return manifests.Decode("page", fmt.Appendf(nil, pageManifests, page.Name, page.Data["page"]))
	}
	outcome, err := p.engine.Reconcile(ctx, page, engine.Request{}, render)
	return engine.ResultOf(outcome), err
}

func setUpPages(ctx context.Context, mgr ctrl.Manager) error {
	e, err := engine.New(ctx, "pages.example.com", mgr.GetConfig(), engine.Options{})
	if err != nil {
		return err
	}
	s, err := engine.NewStandalone(ctx, e, engine.StandaloneOptions{Client: mgr.GetClient()})
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).WatchesRawSource(s.Source()).
		Complete(&pages{client: mgr.GetClient(), engine: s})
}

// pageManifests are the manifests of a page, with its name and its text.
const pageManifests = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]q}
spec:
  selector: {matchLabels: {page: %[1]q}}
  template:
    metadata: {labels: {page: %[1]q}}
    spec:
      containers:
      - {name: web, image: nginx, env: [{name: PAGE, value: %[2]q}]}
---
apiVersion: v1
kind: Service
metadata: {name: %[1]q}
spec: {selector: {page: %[1]q}, ports: [{port: 80}]}`
