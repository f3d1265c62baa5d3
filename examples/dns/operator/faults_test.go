package operator_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/examples/dns/dnstest"
	"github.com/fairlead-io/fairlead/examples/dns/operator"
	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
)

// services contains a DNS service for each namespace. The ids of a service count its creations, so they are the same in
// each run in which no record is created twice.
type services struct {
	t *testing.T

	mu        sync.Mutex
	servers   map[string]*dnstest.Server
	addresses map[string]string
}

func (s *services) of(namespace string) (*dnstest.Server, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.servers[namespace] == nil {
		server := dnstest.New(dnstest.Options{})
		server.Put(dnstest.Record{Name: "of.others.example.com", Type: "A", Value: "198.51.100.1", Tag: "foreign"})
		api := httptest.NewServer(server)
		s.t.Cleanup(api.Close)
		s.servers[namespace], s.addresses[namespace] = server, api.URL
	}
	return s.servers[namespace], s.addresses[namespace]
}

// testFaults goes through the life of a site while requests to the API server and calls to the DNS service fail, are
// lost, delayed or delivered twice, and while the operator crashes.
func testFaults(t *testing.T, w *world) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := operator.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	all := &services{t: t, servers: map[string]*dnstest.Server{}, addresses: map[string]string{}}
	componenttest.Run(t, componenttest.Scenario[*operator.Site]{
		Name: "faults", Config: w.cluster.Config(), Scheme: scheme, Reconciler: operator.Name, Timeout: 2 * time.Minute,
		Operator: func(ctx context.Context, config *rest.Config, namespace string) error {
			_, address := all.of(namespace)
			manager, err := operator.NewManager(config, operator.Options{
				ServiceURL: address, Poll: 200 * time.Millisecond, Timeout: 2 * time.Second, Namespace: namespace,
				Transport: componenttest.WrapCalls(ctx, http.DefaultTransport), SkipNameValidation: true,
			})
			if err != nil {
				return err
			}
			return manager.Start(ctx)
		},
		Component: func(namespace string) *operator.Site {
			return &operator.Site{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"},
				Spec: operator.SiteSpec{
					Hosts: []string{"www.example.com"}, Address: "192.0.2.7", TTL: 300, SecretName: "dns-api",
				},
			}
		},
		Bystanders: func(namespace string) []client.Object {
			return []client.Object{&corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "dns-api"},
				StringData: map[string]string{"token": "secret"},
			}}
		},
		Outside: func(_ context.Context, namespace string) (records []string, err error) {
			server, _ := all.of(namespace)
			for _, r := range server.Records() {
				records = append(records, fmt.Sprintf("%s %s %s %d", r.Name, r.Type, r.Value, r.TTL))
			}
			return records, nil
		},
		Steps: []componenttest.Step[*operator.Site]{
			{Name: "address", Change: func(s *operator.Site) { s.Spec.Address = "192.0.2.8" }},
			{Name: "host", Change: func(s *operator.Site) { s.Spec.Hosts = append(s.Spec.Hosts, "api.example.com") }},
			{Name: "rename", Change: func(s *operator.Site) { s.Spec.Hosts = []string{"www.example.com", "shop.example.com"} }},
		},
		Seeds:  []uint64{1, 2},
		Faults: componenttest.Faults{Percent: 25, Most: 8, Crashes: 1},
	})
}
