package tenancy_test

import (
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// endless is a server that answers some requests without end, and passes other requests on to the cluster.
type endless struct {
	name string
	// matches reports whether the response to a request has no end.
	matches func(*http.Request) bool
	// first is the beginning of the response, and more is repeated until the client closes the connection. If last is not
	// empty, it ends the response after times repetitions of more.
	first, more, last string
	times             int
	proxy             *httputil.ReverseProxy
	// sent receives the number of bytes of each response that ended, or whose connection was closed.
	sent chan int64
}

func (e *endless) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !e.matches(r) {
		e.proxy.ServeHTTP(w, r)
		return
	}
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = connection.Close() }()
	count, err := connection.Write([]byte(e.first))
	sent := int64(count)
	perChunk := 1 + 100_000/len(e.more)
	chunk := []byte(strings.Repeat(e.more, perChunk))
	for i := 0; err == nil && (e.last == "" || i < e.times); i += perChunk {
		count, err = connection.Write(chunk)
		sent += int64(count)
	}
	_, _ = connection.Write([]byte(e.last)) // A connection that is closed is no mistake.
	select {
	case e.sent <- sent:
	default:
	}
}

// start runs the server until the spec ends, and returns a kubeconfig for it.
func (e *endless) start() []byte {
	GinkgoHelper()
	config := cluster.Config()
	transport, err := rest.TransportFor(config)
	Expect(err).NotTo(HaveOccurred())
	host, err := url.Parse(config.Host)
	Expect(err).NotTo(HaveOccurred())
	e.proxy = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(host) }, Transport: transport,
		FlushInterval: -1,
	}
	e.sent = make(chan int64, 1)
	server := httptest.NewTLSServer(e)
	DeferCleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	own := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return kubeconfigOf(server.URL, own, &clientcmdapi.AuthInfo{Token: "any"})
}

// Requests that a server answers without end.
func toPath(path string) func(*http.Request) bool {
	return func(r *http.Request) bool { return r.URL.Path == path }
}

func isWatch(r *http.Request) bool { return r.URL.Query().Get("watch") != "" }

func isWrite(r *http.Request) bool { return r.Method == http.MethodPatch }

// compressed returns a gzip of 10 MiB of spaces.
func compressed() string {
	GinkgoHelper()
	var buffer bytes.Buffer
	writer := gzip.NewWriter(&buffer)
	_, err := writer.Write(bytes.Repeat([]byte(" "), 10<<20))
	Expect(err).NotTo(HaveOccurred())
	Expect(writer.Close()).To(Succeed())
	return buffer.String()
}

// endlessServers returns servers, each with a name.
func endlessServers() []*endless {
	const (
		status = "HTTP/1.1 200 OK\r\n"
		header = status + "Content-Type: application/json\r\nConnection: close\r\n\r\n"
		list   = header + `{"kind":"NamespaceList","apiVersion":"v1","items":[`
		event  = header +
			`{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","annotations":{"a":"`
	)
	first := toPath("/api/v1/namespaces/kube-system")
	return []*endless{
		{name: "values", matches: first, first: list, more: `{"a":{}},`},
		{name: "text", matches: first, first: header + `{"kind":"`, more: "a"},
		{name: "levels", matches: first, first: header, more: `[`},
		{name: "spaces", matches: first, first: header, more: " "},
		{
			name: "gzip", matches: first, first: strings.Replace(header, "\r\n", "\r\nContent-Encoding: gzip\r\n", 1),
			more: compressed(),
		},
		{name: "headers", matches: first, first: status, more: "X-Header: " + strings.Repeat("a", 1000) + "\r\n"},
		{name: "header", matches: first, first: status + "X-Header: ", more: "a"},
		{name: "hints", matches: first, first: "", more: "HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n"},
		{name: "error", matches: first, first: strings.Replace(header, "200 OK", "500 Error", 1) +
			`{"kind":"Status","message":"`, more: "a"},
		{
			name: "discovery", matches: toPath("/apis"), first: header + `{"kind":"APIGroupList","apiVersion":"v1","groups":[`,
			more: `{"name":"a"},`,
		},
		{
			name: "types", matches: toPath("/api"), first: header + `{"kind":"APIResourceList","resources":[`,
			more: `{"name":"a"},`,
		},
		{name: "event", matches: isWatch, first: event, more: "a"},
		{name: "events", matches: isWatch, first: header + `{"type":"ADDED","object":{"items":[`, more: `{},`},
		{name: "write", matches: isWrite, first: header + `{"kind":"ConfigMap","data":{"a":"`, more: "a"},
	}
}

// inCluster returns a component of mallory whose target is the cluster of a kubeconfig.
func inCluster(ctx SpecContext, namespace, name string, kubeconfig []byte) *v1alpha1.Component {
	GinkgoHelper()
	keep(ctx, namespace, name, "value", string(kubeconfig))
	manifest := strings.Replace(metadata, "settings", name, 1)
	c := newComponent(namespace, name, map[string]string{"a.yaml": manifest})
	c.Spec.Target = &metav1alpha1.KubeConfigSource{SecretRef: metav1alpha1.KubeConfigKey{Name: name}}
	return c
}

var _ = Describe("A tenant who writes kubeconfigs", func() {
	unharmed()

	It("does not exhaust the memory of the operator by servers that answer without end at "+
		"the same time", func(ctx SpecContext) {
		meetServers(ctx, endlessServers())
	}, SpecTimeout(5*time.Minute))

	It("does not exhaust the memory of the operator by many large responses at the same time", func(ctx SpecContext) {
		meetServers(ctx, largeServers())
	}, SpecTimeout(5*time.Minute))
})

// meetServers creates a component for each server, all at the same time, and waits until each server has sent a
// response that ended, or whose connection was closed.
func meetServers(ctx SpecContext, servers []*endless) {
	GinkgoHelper()
	namespace := newTenancy(ctx)
	var components []*v1alpha1.Component
	for _, server := range servers {
		components = append(components, inCluster(ctx, namespace, server.name, server.start()))
	}
	attack(ctx, components...)
	for _, server := range servers {
		By("waiting for the end of a response of the server " + server.name)
		Eventually(ctx, func() (int, error) { return len(server.sent), operator.alive() }).Should(Equal(1))
		Expect(<-server.sent).To(BeNumerically("<", 100<<20))
	}
	By("deleting the components while the servers still respond")
	removeComponents(ctx, namespace)
}

// largeServers returns servers whose responses are just below the limits of one response.
func largeServers() []*endless {
	const header = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
	var servers []*endless
	for i := range 8 {
		servers = append(servers, &endless{
			name: fmt.Sprintf("object-%d", i), matches: toPath("/api/v1/namespaces/kube-system"), times: 900_000,
			first: header + `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":"a"},"spec":[`,
			more:  `{"a":1},`,
			last:  `{}]}`,
		}, &endless{
			name: fmt.Sprintf("groups-%d", i), matches: toPath("/apis"), times: 480_000,
			first: header + `{"kind":"APIGroupList","apiVersion":"v1","groups":[`, more: `{"name":"a","versions":[]},`,
			last: `{}]}`,
		})
	}
	return servers
}
