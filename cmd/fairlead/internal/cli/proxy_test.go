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

// cuttingProxy starts an HTTP proxy to the API server with the rights of the administrator, and returns its URL. Each
// value sent to cut interrupts a watch.
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
		// ServeHTTP panics to abort the connection when the context of its request ends.
		proxy.ServeHTTP(w, r.WithContext(ctx))
	}))
	DeferCleanup(server.Close)
	return server.URL
}
