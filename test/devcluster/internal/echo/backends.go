package echo

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"

	"github.com/fairlead-io/fairlead/test/devcluster/internal/pki"
)

// backend is a Service that the API server connects to.
type backend struct {
	namespace, name string
	// ready reports whether it has a ready endpoint.
	ready    bool
	selector labels.Selector
}

// backends finds Services by their addresses, and certificates by the pods behind them.
type backends struct {
	services corelisters.ServiceLister
	slices   discoverylisters.EndpointSliceLister
	pods     corelisters.PodLister
	secrets  corev1client.SecretsGetter
	signer   signer
}

// find returns the Service with an address of CONNECT, which is its cluster IP.
func (b *backends) find(address string) (found backend, isService bool) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return backend{}, false
	}
	all, err := b.services.List(labels.Everything())
	if err != nil {
		return backend{}, false
	}
	for _, service := range all {
		if service.Spec.ClusterIP != host {
			continue
		}
		return backend{
			namespace: service.Namespace, name: service.Name, ready: b.isReady(service),
			selector: labels.SelectorFromSet(service.Spec.Selector),
		}, true
	}
	return backend{}, false
}

// isReady reports whether a Service has a ready endpoint. It is that of a fake pod, unless the Service has no selector.
func (b *backends) isReady(service *corev1.Service) bool {
	if len(service.Spec.Selector) == 0 {
		return false
	}
	ofService := labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: service.Name})
	found, err := b.slices.EndpointSlices(service.Namespace).List(ofService)
	if err != nil {
		return false
	}
	for _, slice := range found {
		for i := range slice.Endpoints {
			if ready := slice.Endpoints[i].Conditions.Ready; ready == nil || *ready {
				return true
			}
		}
	}
	return false
}

// certificate returns the certificate of the Service that the connection is for.
func (b *backends) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	conn, ok := hello.Conn.(serviceConn)
	if !ok {
		return nil, fmt.Errorf("a connection for no Service: %s", hello.ServerName)
	}
	name := hello.ServerName
	if name == "" {
		name = conn.target.name + "." + conn.target.namespace + ".svc"
	}
	if mounted := b.mounted(hello.Context(), conn.target, name); mounted != nil {
		return mounted, nil
	}
	return b.signer.certificate(name)
}

// mounted returns a certificate for the name, of a Secret that a pod of the Service mounts, or nil.
func (b *backends) mounted(ctx context.Context, target backend, name string) *tls.Certificate {
	pods, err := b.pods.Pods(target.namespace).List(target.selector)
	if err != nil {
		return nil
	}
	names := map[string]bool{}
	for _, pod := range pods {
		for _, secret := range secretsOf(pod) {
			names[secret] = true
		}
	}
	for _, each := range slices.Sorted(maps.Keys(names)) {
		secret, err := b.secrets.Secrets(target.namespace).Get(ctx, each, metav1.GetOptions{})
		if err != nil {
			continue // It is optional, or not there yet.
		}
		if found := certificateOf(secret.Data, name); found != nil {
			return found
		}
	}
	return nil
}

// secretsOf returns the names of the Secrets that a pod mounts.
func secretsOf(pod *corev1.Pod) (names []string) {
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		if volume.Secret != nil {
			names = append(names, volume.Secret.SecretName)
		}
		if volume.Projected == nil {
			continue
		}
		for j := range volume.Projected.Sources {
			if secret := volume.Projected.Sources[j].Secret; secret != nil {
				names = append(names, secret.Name)
			}
		}
	}
	return names
}

// certificateOf returns the certificate for a name among the files of a Secret, or nil. Key and certificate are told by
// their content, because their names differ: tls.crt, cert.pem, server.crt.
func certificateOf(files map[string][]byte, name string) *tls.Certificate {
	for _, certFile := range slices.Sorted(maps.Keys(files)) {
		for _, keyFile := range slices.Sorted(maps.Keys(files)) {
			if certFile == keyFile || !strings.Contains(string(files[keyFile]), "PRIVATE KEY") {
				continue
			}
			pair, err := tls.X509KeyPair(files[certFile], files[keyFile])
			if err != nil {
				continue
			}
			leaf, err := x509.ParseCertificate(pair.Certificate[0])
			if err == nil && leaf.VerifyHostname(name) == nil {
				return &pair
			}
		}
	}
	return nil
}

// signer signs a certificate for each name once.
type signer struct {
	authority pki.Authority
	mutex     sync.Mutex
	signed    map[string]*tls.Certificate
}

func (s *signer) certificate(name string) (*tls.Certificate, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if known := s.signed[name]; known != nil {
		return known, nil
	}
	pair, err := s.authority.Server(name, name)
	if err != nil {
		return nil, err
	}
	certificate, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	if err != nil {
		return nil, fmt.Errorf("certificate of %s: %w", name, err)
	}
	if s.signed == nil {
		s.signed = map[string]*tls.Certificate{}
	}
	s.signed[name] = &certificate
	return &certificate, nil
}
