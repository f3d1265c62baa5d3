package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/fairlead-io/fairlead/internal/logging"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Standalone makes the passes of an Engine with all that a Reconciler has besides: it normalises manifests, stores the
// inventory of each owner in a Secret, adds a finalizer to objects, and identifies the cluster. A pass reads the Secret
// once, and writes it only when the inventory has changed.
//
// Several processes may work for the same owners. If two of them make a pass at the same time, one of them gets an
// error that satisfies apierrors.IsConflict before it writes a dependent that the other process does not know; its next
// pass goes on from the inventory of the other process.
//
// The identity of the engine must be allowed to get, create, update, patch and delete Secrets in the namespaces of the
// owners, to get the namespace kube-system unless StandaloneOptions.ClusterID is set, and to create
// SelfSubjectAccessReviews. A Standalone is safe for concurrent use by different owners.
type Standalone struct {
	engine      *Engine
	options     StandaloneOptions
	home        *target.Client
	inventories records.Inventories

	mu sync.Mutex
	// queue is the queue of the controller that uses Source, and cluster is the cluster id, both empty before they are
	// known.
	queue   workqueue.TypedRateLimitingInterface[reconcile.Request]
	cluster string
}

// StandaloneOptions configure a Standalone. The zero value is for owners without an object, in the cluster of the
// engine.
type StandaloneOptions struct {
	// Client reads and writes the objects that are given to Reconcile, for example the client of the manager. It is
	// required for Reconcile.
	Client client.Client

	// ClusterID is part of all owner ids, and must never change: dependents with another cluster id belong to somebody
	// else. The default is the UID of the namespace kube-system in the cluster of the owners, so that the objects of a
	// backup that is restored in another cluster do not count as dependents there.
	ClusterID string

	// Namespace is the namespace of the Secrets of cluster-scoped owners. It is required for such owners, and no set of
	// such an owner may contain it.
	Namespace string

	// Home is the configuration of a client for the cluster of the owners and of the Secrets. It is required if the engine
	// has the option RemoteTarget, and refused otherwise.
	Home *rest.Config
}

// NewStandalone returns a Standalone for an engine. It sends no request. If e is the result of Engine.As, dependents
// are written as the other identity, and Secrets as the identity of the engine's configuration.
func NewStandalone(ctx context.Context, e *Engine, o StandaloneOptions) (*Standalone, error) {
	if e.client.RemoteTarget != (o.Home != nil) {
		return nil, errors.New("StandaloneOptions.Home is required for an engine with RemoteTarget, and is not permitted " +
			"for other engines")
	}
	home := e.client.Connection
	if o.Home != nil {
		var err error
		if home, err = e.connect(ctx, o.Home); err != nil {
			return nil, fmt.Errorf("connect to the cluster of the owners: %w", err)
		}
	}
	s := &Standalone{engine: e, options: o, home: home.Own(), cluster: o.ClusterID}
	s.inventories = records.Inventories{Store: records.NewStore(records.Options{
		Reconciler: e.name, Namespace: o.Namespace, Dynamic: s.home.Dynamic, Metadata: s.home.Metadata,
		NamespaceGoes: s.home.Executor.NamespaceGoes, Clock: clock.RealClock{},
		VerifyCluster: func(context.Context, types.NamespacedName) error { return nil },
	})}
	return s, nil
}

// Apply makes a pass like Engine.Apply. The set consists of the rendered manifests, which are not normalised yet.
// p.Owner needs Kind, Namespace and Name only, and p.Now and p.Wake are optional; Desired, Inventory and WriteInventory
// must be empty. The caller must call Apply again when p.Wake is called, and when Outcome.NextDue is due.
//
// Without the Secret, Apply cannot know whether the owner is new, so it searches all types for objects with the owner
// label; see RecoveredError. Reconcile needs no such search for a new object.
func (s *Standalone) Apply(
	ctx context.Context, p Request, rendered []*unstructured.Unstructured,
) (result.Outcome, error) {
	return s.apply(ctx, p, rendered, loading{})
}

func (s *Standalone) apply(
	ctx context.Context, p Request, rendered []*unstructured.Unstructured, state loading,
) (result.Outcome, error) {
	ctx = logging.Context(ctx)
	p, err := s.completed(ctx, p)
	if err != nil {
		return result.Outcome{}, err
	}
	if p.Desired, err = s.normalised(p, rendered); err != nil {
		return result.Outcome{}, err
	}
	record, err := s.load(ctx, p, state)
	if err != nil {
		return result.Outcome{}, err
	}
	return record.run(ctx, p, state, s.engine.Apply)
}

// Delete makes a pass like Engine.Delete. p is as for Apply; a deletion needs no rendering. When no dependent exists
// any more, Delete also deletes the Secret and drops the state of the owner from memory: the outcome is done then.
func (s *Standalone) Delete(ctx context.Context, p Request) (result.Outcome, error) {
	return s.remove(ctx, p, loading{deleting: true})
}

func (s *Standalone) remove(ctx context.Context, p Request, state loading) (result.Outcome, error) {
	ctx = logging.Context(ctx)
	p, err := s.completed(ctx, p)
	if err != nil {
		return result.Outcome{}, err
	}
	record, err := s.load(ctx, p, state)
	if err != nil {
		return result.Outcome{}, err
	}
	outcome, err := record.run(ctx, p, state, s.engine.Delete)
	if err != nil || !outcome.Done() || len(outcome.Inventory) > 0 {
		return outcome, err
	}
	if err := record.delete(ctx); err != nil {
		return result.Outcome{}, err
	}
	s.engine.Forget(p.Owner)
	return outcome, nil
}

// completed returns the pass with the fields that the caller may omit.
func (s *Standalone) completed(ctx context.Context, p Request) (Request, error) {
	if p.Desired != nil || p.Inventory != nil || p.WriteInventory != nil {
		return p, errors.New("the fields Desired, Inventory and WriteInventory must be empty, because Standalone sets them")
	}
	var err error
	if p.Owner, err = s.identified(ctx, p.Owner); err != nil {
		return p, err
	}
	if p.Now.IsZero() {
		p.Now = clock.RealClock{}.Now()
	}
	if p.Wake == nil {
		p.Wake = func() {}
	}
	return p, nil
}

// identified returns an owner with its cluster and its reconciler.
func (s *Standalone) identified(ctx context.Context, owner manifests.Owner) (manifests.Owner, error) {
	switch {
	case owner.Kind == "" || owner.Name == "":
		return owner, errors.New("Request.Owner needs a kind and a name")
	case owner.Namespace == "" && s.options.Namespace == "":
		return owner, fmt.Errorf("%s is cluster-scoped; set StandaloneOptions.Namespace, the namespace of the Secret with its "+
			"inventory", owner.Component())
	}
	cluster, err := s.clusterID(ctx)
	owner.Cluster, owner.Reconciler = cluster, s.engine.name
	return owner, err
}

// clusterID returns the cluster id. It asks the API server until it has an answer. No lock is held during the request,
// so that a slow request delays neither wakes nor a pass with a context that ends. Concurrent first passes may ask
// twice.
func (s *Standalone) clusterID(ctx context.Context) (string, error) {
	if known := s.knownCluster(); known != "" {
		return known, nil
	}
	cluster, err := s.home.ClusterID(ctx)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cluster = cluster
	return cluster, nil
}

// knownCluster returns the cluster id, and an empty text before it is known.
func (s *Standalone) knownCluster() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cluster
}

// finalizers are the finalizers that Reconcile manages.
func (s *Standalone) finalizers() components.Finalizers {
	return components.FinalizersOf(s.engine.name)
}

// Source returns an event source for the controller that calls Reconcile: it adds an object to the queue of the
// controller when its dependents need another pass. Passes with a Wake of their own do not use it. One controller may
// use it.
//
//	builder.ControllerManagedBy(mgr).For(&Shop{}).WatchesRawSource(standalone.Source()).Complete(r)
func (s *Standalone) Source() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.queue = queue
		return nil
	})
}

// wake returns a function that adds an object to the queue of the controller.
func (s *Standalone) wake(name types.NamespacedName) (func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queue == nil {
		return nil, errors.New("nobody is told when a dependent changes: give Standalone.Source to the controller, or set " +
			"Request.Wake")
	}
	queue := s.queue
	return func() { queue.Add(reconcile.Request{NamespacedName: name}) }, nil
}
