package main

import (
	"context"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// ingressKind is the kind of the dependent whose status the hook reads.
var ingressKind = schema.GroupKind{Group: networkingv1.GroupName, Kind: "Ingress"}

// reportURL returns hooks that write the address of the Ingress of a page into the status of the page. A change of
// the Ingress starts a pass, so the status follows it. If the address did not change, no request is sent.
func reportURL(r *component.Reconciler[*WebPage]) component.Hooks[*WebPage] {
	return component.Hooks[*WebPage]{PostPass: func(
		ctx context.Context, page *WebPage, dependents component.DependentReader, _ component.PassResult,
	) error {
		key := manifests.Key{Group: ingressKind.Group, Kind: ingressKind.Kind, Namespace: page.Namespace, Name: page.Name}
		ingress, err := component.As[*networkingv1.Ingress](dependents.Get(ctx, key))
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		url := urlOf(ingress)
		return r.UpdateStatus(ctx, page, func(p *WebPage) error {
			p.Status.URL = url
			return nil
		})
	}}
}

// urlOf returns the address of the page behind an Ingress, or an empty text. The page has no Ingress if it is nil.
func urlOf(ingress *networkingv1.Ingress) string {
	if ingress == nil || len(ingress.Status.LoadBalancer.Ingress) == 0 {
		return ""
	}
	address := ingress.Status.LoadBalancer.Ingress[0]
	host := address.Hostname
	if host == "" {
		host = address.IP
	}
	return "http://" + host + "/" + ingress.Name
}
