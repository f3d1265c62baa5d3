package related

import (
	"context"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
)

// evictions is the number of times in an idle time at which bodies are dropped.
const evictions = 8

// Objects watches objects that components are related to.
type Objects struct {
	eventsources.Once
	options Options
	// clusterScoped is set if the components have no namespace. It is known before the first watch begins.
	clusterScoped atomic.Bool
	users         users
}

// New returns the event source of related objects.
func New(o Options) *Objects {
	if o.Idle == 0 {
		o.Idle = DefaultIdle
	}
	r := &Objects{options: o}
	r.users = newUsers(converter{options: &r.options, clusterScoped: &r.clusterScoped})
	return r
}

// Run implements eventsources.EventSource.
func (r *Objects) Run(ctx context.Context, port *eventsources.Port) {
	defer r.users.end()
	if ctx.Err() != nil {
		return
	}
	for name, t := range r.users.begin(ctx, port) {
		r.Track(ctx, t.obj, t.clusters)
		port.Wake(name)
	}
	if r.options.Idle > 0 && !r.options.MetadataOnly {
		r.evictUntilEnd(ctx)
	}
	<-ctx.Done()
}

// evictUntilEnd drops bodies that were not touched for the idle time, until ctx ends.
func (r *Objects) evictUntilEnd(ctx context.Context) {
	ticker := time.NewTicker(max(r.options.Idle/evictions, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			r.evict(time.Now())
		}
	}
}

// evict drops bodies that were not touched for the idle time.
func (r *Objects) evict(now time.Time) {
	for _, i := range r.users.allInformers() {
		i.objects.evict(now)
	}
}

// Track implements eventsources.EventSource.
func (r *Objects) Track(ctx context.Context, obj client.Object, clusters eventsources.Clusters) {
	name := client.ObjectKeyFromObject(obj)
	if name.Namespace == "" {
		r.clusterScoped.Store(true)
	}
	port := r.users.portOrKeep(name, tracked{obj, clusters})
	if port == nil {
		return
	}
	var of []client.ObjectKey
	at := connected(port.Home())
	err := eventsources.CallAuthor(ctx, func(context.Context) error {
		if r.options.Of != nil {
			of = r.options.Of(obj)
		}
		return nil
	})
	if err == nil {
		at, err = r.clusterOf(ctx, obj, clusters, at)
	}
	r.users.assign(name, of, at, err)
}

// reachable is a cluster that is connected when it is needed.
type reachable struct {
	key     any
	connect func() (eventsources.Cluster, error)
}

// connected returns a cluster that is connected already.
func connected(c eventsources.Cluster) reachable {
	return reachable{c.Key, func() (eventsources.Cluster, error) { return c, nil }}
}

// clusterOf returns the cluster of a component.
func (r *Objects) clusterOf(
	ctx context.Context, obj client.Object, clusters eventsources.Clusters, home reachable,
) (reachable, error) {
	switch {
	case r.options.InTarget && clusters == nil:
		return reachable{}, passerror.ErrObserving
	case r.options.InTarget:
		target, err := clusters.Target()
		return connected(target), err
	case r.options.Config == nil:
		return home, nil
	}
	var config *rest.Config
	err := eventsources.CallAuthor(ctx, func(ctx context.Context) (err error) {
		config, err = r.options.Config(ctx, obj)
		return err
	})
	if err != nil || config == nil {
		return home, err
	}
	key, err := keyOf(config, client.ObjectKeyFromObject(obj))
	return reachable{key, func() (eventsources.Cluster, error) { return dial(config, key) }}, err
}

// Forget implements eventsources.EventSource.
func (r *Objects) Forget(name types.NamespacedName) { r.users.forget(name) }

// State implements eventsources.EventSource.
func (r *Objects) State(name types.NamespacedName) eventsources.State { return r.users.state(name) }

// Kind implements eventsources.EventSource.
func (r *Objects) Kind() eventsources.Kind { return eventsources.KindRelated }

// Size implements eventsources.EventSource. The values are the objects.
func (r *Objects) Size() (values, stale int) { return r.users.size() }

// Get returns the objects that are related to a component, sorted by namespace and name. Objects that are not kept are
// read. The caller may change the result.
func (r *Objects) Get(ctx context.Context, name types.NamespacedName) ([]client.Object, error) {
	i, of, err := r.users.synced(name)
	if err != nil {
		return nil, err
	}
	keys := i.objects.keysOf(name, of)
	objects := make([]client.Object, 0, len(keys))
	for _, key := range keys {
		obj, err := i.copied(ctx, key)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		objects = append(objects, obj)
	}
	return objects, nil
}

// GetNamed returns one of the objects that are related to a component. The error is NotFound if the object does not
// exist or is not related to the component. No other object is read. The caller may change the result.
func (r *Objects) GetNamed(
	ctx context.Context, name types.NamespacedName, key client.ObjectKey,
) (client.Object, error) {
	i, _, err := r.users.synced(name)
	if err == nil {
		err = i.watch.checkNamespaces(key)
	}
	switch {
	case err != nil:
		return nil, err
	case !i.objects.isRelated(name, key):
		return nil, i.reader.notFound(key)
	}
	return i.copied(ctx, key)
}

// Write calls send, which writes a related object on behalf of a component and stores the response in obj. The watch
// event of this write does not start a pass over the component. Get returns the response from then on. An object in a
// namespace that is not watched is an error, because its later changes would not be seen.
func (r *Objects) Write(
	ctx context.Context, name types.NamespacedName, obj client.Object, send func(context.Context) error,
) error {
	i := r.users.informerOf(name)
	if i == nil {
		return send(ctx)
	}
	key := client.ObjectKeyFromObject(obj)
	if err := i.watch.checkNamespaces(key); err != nil {
		return err
	}
	i.objects.beginWrite(name, key)
	before := obj.GetResourceVersion()
	err := send(ctx)
	var written *object
	if err == nil && obj.GetResourceVersion() != before {
		// If a function of the author fails with the response, written stays nil, and the watch event of the write
		// wakes the component.
		if response, failed := i.convert.ofResponse(obj); failed == nil {
			written = response
		}
	}
	i.perform(i.objects.endWrite(name, key, written))
	return err
}
