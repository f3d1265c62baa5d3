package lint

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// referrers add the references of built-in types besides those of pods.
var referrers = map[string]func(*finder, node){
	"RoleBinding.rbac.authorization.k8s.io":        (*finder).binding,
	"ClusterRoleBinding.rbac.authorization.k8s.io": (*finder).binding,

	"ServiceAccount":                      (*finder).account,
	"PersistentVolumeClaim":               (*finder).claim,
	"StatefulSet.apps":                    (*finder).statefulSet,
	"Ingress.networking.k8s.io":           (*finder).ingress,
	"HorizontalPodAutoscaler.autoscaling": (*finder).autoscaler,

	"MutatingWebhookConfiguration.admissionregistration.k8s.io":   (*finder).webhooks,
	"ValidatingWebhookConfiguration.admissionregistration.k8s.io": (*finder).webhooks,
	"APIService.apiregistration.k8s.io":                           (*finder).apiService,
}

// account adds the Secrets of a service account. Those in the list secrets may be applied later: Kubernetes writes a
// token to such a Secret after the account was created.
func (f *finder) account(body node) {
	begin := len(f.found)
	for _, secret := range at(body, "secrets").items() {
		f.named("Secret", secret)
	}
	for i := range f.found[begin:] {
		f.found[begin+i].anyOrder = true
	}
	for _, secret := range at(body, "imagePullSecrets").items() {
		f.named("Secret", secret)
	}
}

// statefulSet adds the headless Service that gives the pods their names, and the classes of the claims.
func (f *finder) statefulSet(body node) {
	f.add("Service", at(body, "spec", "serviceName"), node{})
	for _, template := range at(body, "spec", "volumeClaimTemplates").items() {
		f.claim(template)
	}
}

// ingress adds the backends and the class of an Ingress, and the Secrets of its certificates. If annotations ask a
// controller for the certificates, it creates the Secrets.
func (f *finder) ingress(body node) {
	f.addClass("networking.k8s.io", "IngressClass", at(body, "spec", "ingressClassName"))
	f.backend(at(body, "spec", "defaultBackend"))
	for _, rule := range at(body, "spec", "rules").items() {
		for _, path := range at(rule, "http", "paths").items() {
			f.backend(at(path, "backend"))
		}
	}
	annotations, _ := at(body, "metadata", "annotations").value.(map[string]any)
	for name := range annotations {
		if strings.HasPrefix(name, "cert-manager.io/") || name == "kubernetes.io/tls-acme" {
			return
		}
	}
	for _, tls := range at(body, "spec", "tls").items() {
		f.add("Secret", at(tls, "secretName"), node{})
	}
}

// backend adds the Service, or the other object, that serves the requests of an Ingress.
func (f *finder) backend(backend node) {
	f.add("Service", at(backend, "service", "name"), node{})
	resource := at(backend, "resource")
	f.addKey(manifests.Key{
		Group: at(resource, "apiGroup").text(), Kind: at(resource, "kind").text(), Namespace: f.namespace,
	}, at(resource, "name"))
}

// autoscaler adds the object whose replicas an autoscaler sets.
func (f *finder) autoscaler(body node) {
	target := at(body, "spec", "scaleTargetRef")
	version, err := schema.ParseGroupVersion(at(target, "apiVersion").text())
	if err != nil {
		return
	}
	f.addKey(manifests.Key{
		Group: version.Group, Kind: at(target, "kind").text(), Namespace: f.namespace,
	}, at(target, "name"))
}

// webhooks adds the Services that serve the webhooks.
func (f *finder) webhooks(body node) {
	for _, webhook := range at(body, "webhooks").items() {
		f.service(at(webhook, "clientConfig", "service"))
	}
}

func (f *finder) apiService(body node) { f.service(at(body, "spec", "service")) }

// service adds a Service that is named together with its namespace.
func (f *finder) service(service node) {
	f.addKey(manifests.Key{Kind: "Service", Namespace: at(service, "namespace").text()}, at(service, "name"))
}
