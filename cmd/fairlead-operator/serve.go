package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/leader"
	"github.com/fairlead-io/fairlead/internal/operator"
	"github.com/fairlead-io/fairlead/internal/version"
	"github.com/fairlead-io/fairlead/pkg/component"
)

const (
	// shutdownTimeout is the time in which running passes can end after a signal. The kubelet kills the process after
	// thirty seconds.
	shutdownTimeout = 25 * time.Second
	// probeTimeout is the timeout of a readiness check. It is shorter than the timeout of the kubelet, one second.
	probeTimeout = 500 * time.Millisecond
)

// serve runs the operator until the context ends.
func serve(ctx context.Context, o options) error {
	restConfig, err := config.GetConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	restConfig.UserAgent = "fairlead-operator/" + version.Version
	restConfig.QPS = -1 // The API server limits requests by priority and fairness.
	idle := component.NewIdleInventory(o.idleInventory)
	lease, err := o.lease(ctx, restConfig)
	if err != nil {
		return fmt.Errorf("set up the leader election: %w", err)
	}
	mgr, err := newManager(restConfig, o, idle, lease)
	if err != nil {
		return err
	}
	traces, stopTracing, err := startTracing(ctx, o.tracing)
	if err != nil {
		return fmt.Errorf("set up tracing: %w", err)
	}
	defer stopTracing()
	mgr, stopPosting, err := o.events.post(ctx, mgr)
	if err != nil {
		return fmt.Errorf("set up the posts of Events: %w", err)
	}
	defer stopPosting()
	isolation, budget := o.rendering.divide(memoryLimit(cgroupFiles))
	setup := operator.Options{
		MaxConcurrentReconciles: o.maxConcurrentReconciles, Limiter: o.rateLimit.limiter(), Writers: o.maxConcurrentWrites,
		RenderedBytes: o.maxRenderedBytes, StatusInventory: o.maxStatusInventory, IdleInventory: idle,
		DefaultServiceAccount: o.defaultServiceAccount, Fetch: o.fetching(), PollHosts: o.pollHosts,
		WatchScope: o.observe, WatchNamespaces: o.observeNamespaces,
		TracerProvider: traces, OwnDeployment: o.self(), SkipComponentMetrics: !o.componentMetrics,
		DependentEvents: o.events.dependents,
		Isolation:       isolation, MemoryBudget: budget, Quotas: o.quotas.forOperator(),
	}
	if o.webhook.enabled() {
		setup.WebhookAddress = o.webhook.address
	}
	if lease != nil {
		setup.Leader = lease
	}
	if err := operator.Setup(mgr, setup); err != nil {
		return fmt.Errorf("set up the reconciler: %w", err)
	}
	if err := errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("cache", synced(mgr.GetCache()))); err != nil {
		return fmt.Errorf("set up the health endpoints: %w", err)
	}
	ctrl.Log.Info("starting", "version", version.Version, "server", restConfig.Host)
	return mgr.Start(ctx)
}

// lease returns the Lease of the leader election, nil if there is no leader election.
func (o options) lease(ctx context.Context, restConfig *rest.Config) (*leader.Lock, error) {
	if !o.leaderElect {
		return nil, nil
	}
	address, err := o.webhook.advertised()
	if err != nil {
		return nil, err
	}
	return leader.New(ctx, restConfig, leader.Options{
		Namespace: o.leaderElectionNamespace, Address: address, Watched: o.observeNamespaces,
		Version: version.Version,
	})
}

func newManager(
	restConfig *rest.Config, o options, idle *component.IdleInventory, lease *leader.Lock,
) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	timeout := shutdownTimeout
	watched := component.Options{
		Watching: component.Watching{Scope: o.observe, Namespaces: o.observeNamespaces},
		Limits:   component.Limits{IdleInventory: idle},
	}.Cache()
	managed := ctrl.Options{
		Scheme:                        scheme,
		Metrics:                       o.metrics.server(),
		HealthProbeBindAddress:        o.probeAddress,
		PprofBindAddress:              o.profilingAddress,
		LeaderElection:                lease != nil,
		LeaderElectionID:              leader.Name,
		LeaderElectionReleaseOnCancel: true, // This is safe, because the process ends right after the manager.
		GracefulShutdownTimeout:       &timeout,
		Cache:                         watched,
		// A read of a single Secret or ConfigMap must not start a watch of all of them.
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{
			&corev1.Secret{},
			&corev1.ConfigMap{},
		}}},
	}
	if lease != nil {
		managed.LeaderElectionResourceLockInterface = lease
	}
	return ctrl.NewManager(restConfig, managed)
}

// synced returns a readiness check that succeeds when the cache contains all components. It also succeeds for replicas
// that are not the leader.
func synced(c cache.Cache) healthz.Checker {
	return func(request *http.Request) error {
		ctx, cancel := context.WithTimeout(request.Context(), probeTimeout)
		defer cancel()
		if !c.WaitForCacheSync(ctx) {
			return errors.New("the cache does not contain all components yet")
		}
		return nil
	}
}
