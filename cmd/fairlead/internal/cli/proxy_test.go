package cli_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/client-go/rest"
)

// cuttingProxy serves the API server as the administrator, over plain HTTP. Each value sent to cut ends one watch.
func cuttingProxy(cut <-chan struct{}) string {
	GinkgoHelper()
	config := kube.Config()
	backend := must(url.Parse(config.Host))
	proxy := httputil.NewSingleHostReverseProxy(backend)
	proxy.Transport = must(rest.TransportFor(config))
	proxy.FlushInterval = -1
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") == "" {
			proxy.ServeHTTP(w, r)
			return
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		go func() {
			select {
			case <-cut:
				cancel()
			case <-ctx.Done():
			}
		}()
		// The proxy aborts the connection when its backend is gone.
		proxy.ServeHTTP(w, r.WithContext(ctx))
	}))
	DeferCleanup(server.Close)
	return server.URL
}
