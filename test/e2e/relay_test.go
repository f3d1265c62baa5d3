package e2e_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/fairlead-io/fairlead/test/testcluster"
)

// startRelay starts a proxy that forwards requests to the API server as a user, and returns the path of a kubeconfig
// for the proxy. The proxy outlives the operators that use it, so it receives the response to a request whose operator
// was killed. Without the proxy the audit log would have status 504 for such a request, whether its object was written
// or not.
func startRelay(user testcluster.User) (kubeconfig string) {
	GinkgoHelper()
	transport, err := rest.TransportFor(user.Config)
	Expect(err).NotTo(HaveOccurred())
	target, err := url.Parse(user.Config.Host)
	Expect(err).NotTo(HaveOccurred())
	proxy := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			// If this context could never be cancelled, the proxy would detect the end of the client in another way.
			ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
			defer cancel()
			r = r.WithContext(ctx)
		}
		proxy.ServeHTTP(w, r)
	}))
	DeferCleanup(server.Close)

	const name = "relay"
	kubeconfig = filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: server.URL}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name}},
		CurrentContext: name,
	}, kubeconfig)).To(Succeed())
	return kubeconfig
}
