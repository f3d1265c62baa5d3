package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// The kinds of the dependents that the hook reads.
var (
	contentKind = schema.GroupKind{Kind: "ConfigMap"}
	ingressKind = schema.GroupKind{Group: networkingv1.GroupName, Kind: "Ingress"}
)

// reportPages returns hooks that write the PageReport of a page at the end of each pass, also of one that failed. A
// change of a dependent starts a pass, so the report follows it. If the report did not change, no request is sent.
func reportPages(r *component.Reconciler[*WebPage]) component.Hooks[*WebPage] {
	return component.Hooks[*WebPage]{PostPass: func(
		ctx context.Context, page *WebPage, dependents component.DependentReader, result component.PassResult,
	) error {
		contents, err := component.ListAs[*corev1.ConfigMap](dependents.List(ctx, contentKind))
		if err != nil {
			return err
		}
		key := manifests.Key{Group: ingressKind.Group, Kind: ingressKind.Kind, Namespace: page.Namespace, Name: page.Name}
		ingress, err := component.As[*networkingv1.Ingress](dependents.Get(ctx, key))
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		report := reportOf(contents, ingress, result)
		return r.UpdateStatus(ctx, page, func(p *WebPage) error {
			p.Status.PageReport = report
			return nil
		})
	}}
}

// reportOf returns the report of a page with these dependents after a pass. The page has no Ingress if ingress is nil.
func reportOf(contents []*corev1.ConfigMap, ingress *networkingv1.Ingress, result component.PassResult) PageReport {
	report := PageReport{URL: urlOf(ingress)}
	if len(contents) > 0 {
		report.HTMLConfigMap = contents[0].Name
	}
	if result.Failure != nil {
		report.ErrorMessage = result.Failure.Message
		return report
	}
	report.AreWeGood = result.Outcome.Done() && result.Outcome.Ready == result.Outcome.Desired
	return report
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
