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

// startRelay passes requests on to the API server in the name of a user, and returns the path of a kubeconfig that
// leads to it. It outlives the operators that use it: a request that is under way when its operator is killed gets its
// answer. Without that the audit log has 504 for such a request, whether or not its object was written, and could not
// tell how often something was done.
func startRelay(user testcluster.User) (kubeconfig string) {
	GinkgoHelper()
	transport, err := rest.TransportFor(user.Config)
	Expect(err).NotTo(HaveOccurred())
	target, err := url.Parse(user.Config.Host)
	Expect(err).NotTo(HaveOccurred())
	proxy := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			// With a context that could not be cancelled at all the proxy would look for another sign that the client
			// is gone.
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
