package engine_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/engine"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestRequestsAboutDependentsHaveAUserAgent(t *testing.T) {
	for name, test := range map[string]struct{ configured, want string }{
		"the default of client-go where none is configured": {"", rest.DefaultKubernetesUserAgent()},
		"the configured user agent":                         {"operator/v1", "operator/v1"},
	} {
		t.Run(name, func(t *testing.T) {
			config := &rest.Config{UserAgent: test.configured}
			if got := userAgentOf(t, config); got != test.want {
				t.Errorf("want %q, got %q", test.want, got)
			}
			if config.UserAgent != test.configured {
				t.Errorf("the caller's configuration changed: %q", config.UserAgent)
			}
		})
	}
}

// A slow request for the cluster id must not delay the start of a controller.
func TestTheClusterIDIsReadWithoutALock(t *testing.T) {
	arrived, release := make(chan struct{}, 1), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/namespaces/kube-system") {
			arrived <- struct{}{}
			<-release
		}
		http.Error(w, "", http.StatusForbidden)
	}))
	t.Cleanup(server.Close)
	applier, err := engine.New(t.Context(), "shops.test.fairlead.io", &rest.Config{Host: server.URL}, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	standalone, err := engine.NewStandalone(t.Context(), applier, engine.StandaloneOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- standalone.Forget(t.Context(), manifests.Owner{Kind: "Shop", Namespace: "shop", Name: "shop"})
	}()
	<-arrived
	if err := standalone.Source().Start(t.Context(), nil); err != nil {
		t.Error(err)
	}
	close(release)
	if err := <-ended; err == nil {
		t.Error("Forget succeeds without a cluster id")
	}
}

// userAgentOf returns the user agent of the first request that an engine sends about a dependent.
func userAgentOf(t *testing.T, config *rest.Config) string {
	t.Helper()
	agents := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case agents <- r.UserAgent():
		default:
		}
		http.Error(w, "", http.StatusServiceUnavailable)
	}))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(func() {
		cancel()
		server.Close()
	})
	config.Host = server.URL
	const name = "shops.test.fairlead.io"
	applier, err := engine.New(ctx, name, config, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pass := engine.Request{
		Owner:     manifests.Owner{Cluster: "c", Reconciler: name, Kind: "Shop", Namespace: "shop", Name: "shop"},
		Inventory: []metav1alpha1.InventoryEntry{{Kind: "ConfigMap", Version: "v1", Namespace: "shop", Name: "settings"}},
		Wake:      func() {},
		Now:       time.Now(),
	}
	// The error of the pass is ignored, because the server responds to every request with an error.
	go func() { _, _ = applier.Apply(ctx, pass) }()
	select {
	case agent := <-agents:
		return agent
	case <-ctx.Done():
		t.Fatal("the engine sent no request")
		return ""
	}
}
