package sources

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
)

// Related watches objects that components are related to.
type Related struct {
	single
	options RelatedOptions
	// clusterScoped is set if the components have no namespace. It is known before the first watch begins.
	clusterScoped atomic.Bool

	mu    sync.Mutex
	run   context.Context
	host  Host
	users map[types.NamespacedName]*user
	// informers are the watches, by the key of their cluster.
	informers map[any]*informer
	// early are the components that were tracked before Run.
	early map[types.NamespacedName]tracked
}

// tracked are the arguments of Track.
type tracked struct {
	obj      client.Object
	clusters Clusters
}

// user is a component that uses a Related.
type user struct {
	informer *informer
	of       []client.ObjectKey
	// failure is the error of a mapper, or of the cluster. waits is set while the cluster is not known.
	failure string
	since   time.Time
	waits   bool
}

// NewRelated returns a Related.
func NewRelated(o RelatedOptions) *Related {
	if o.Idle == 0 {
		o.Idle = DefaultIdle
	}
	return &Related{options: o, users: map[types.NamespacedName]*user{}, informers: map[any]*informer{}}
}

// Run implements Source.
func (r *Related) Run(ctx context.Context, h Host) {
	r.mu.Lock()
	r.run, r.host = ctx, h
	early := r.early
	r.early = nil
	r.mu.Unlock()
	for name, t := range early {
		r.Track(ctx, t.obj, t.clusters)
		h.Wake(name)
	}
	if r.options.Idle > 0 && !r.options.MetadataOnly {
		r.evictUntilEnd(ctx)
	}
	<-ctx.Done()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, i := range r.informers {
		i.stop()
	}
	r.users, r.informers = map[types.NamespacedName]*user{}, map[any]*informer{}
}

// Track implements Source.
func (r *Related) Track(ctx context.Context, obj client.Object, clusters Clusters) {
	name := client.ObjectKeyFromObject(obj)
	if name.Namespace == "" {
		r.clusterScoped.Store(true)
	}
	r.mu.Lock()
	run, home := r.run, r.host.Home
	if run == nil {
		if r.early == nil {
			r.early = map[types.NamespacedName]tracked{}
		}
		r.early[name] = tracked{obj, clusters}
	}
	r.mu.Unlock()
	if run == nil || run.Err() != nil {
		return
	}
	var of []client.ObjectKey
	err := contain(ctx, func(context.Context) error {
		if r.options.Of != nil {
			of = r.options.Of(obj)
		}
		return nil
	})
	cluster, dialled := home, func() (Cluster, error) { return home, nil }
	if err == nil {
		cluster, dialled, err = r.clusterOf(ctx, obj, clusters, home)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if run.Err() != nil {
		return
	}
	u := r.users[name]
	if u == nil {
		u = &user{}
		r.users[name] = u
	}
	if err == nil {
		err = r.use(name, u, cluster.Key, dialled)
	}
	if err == nil {
		u.informer.index.byObject.replace(name, u.of, of)
		u.of = of
		err = u.informer.checkNamespaces(of...)
	}
	r.setFailure(u, err)
}

// clusterOf returns the cluster of a component. It returns only the key of a cluster that has to be dialled.
func (r *Related) clusterOf(
	ctx context.Context, obj client.Object, clusters Clusters, home Cluster,
) (cluster Cluster, dialled func() (Cluster, error), err error) {
	cluster = home
	var config *rest.Config
	switch {
	case r.options.InTarget && clusters == nil:
		return Cluster{}, nil, passerror.ErrObserving
	case r.options.InTarget:
		cluster, err = clusters.Target()
	case r.options.Config != nil:
		err = contain(ctx, func(ctx context.Context) (err error) {
			config, err = r.options.Config(ctx, obj)
			return err
		})
	}
	if err != nil || config == nil {
		return cluster, func() (Cluster, error) { return cluster, nil }, err
	}
	key, err := keyOf(config, client.ObjectKeyFromObject(obj))
	return Cluster{Key: key}, func() (Cluster, error) { return dial(config, key) }, err
}

// setFailure stores the failure of a component. The caller holds the lock.
func (r *Related) setFailure(u *user, err error) {
	u.waits = errors.Is(err, passerror.ErrObserving)
	switch {
	case err == nil || u.waits:
		u.failure, u.since = "", time.Time{}
	case u.failure == "":
		u.since = time.Now()
		fallthrough
	default:
		u.failure = err.Error()
	}
}

// use makes a component use the informer of a cluster. The caller holds the lock.
func (r *Related) use(
	name types.NamespacedName, u *user, key any, dialled func() (Cluster, error),
) error {
	if u.informer != nil && u.informer.reader.cluster.Key == key {
		return nil
	}
	r.leave(name, u)
	i := r.informers[key]
	if i == nil {
		cluster, err := dialled()
		if err != nil {
			return err
		}
		i = r.startInformer(cluster, key == r.host.Home.Key)
		r.informers[key] = i
	}
	u.informer = i
	i.index.users[name] = true
	return nil
}

// leave makes a component stop using its informer, and ends the informer if no other component uses it. The caller
// holds the lock.
func (r *Related) leave(name types.NamespacedName, u *user) {
	i := u.informer
	if i == nil {
		return
	}
	i.index.byObject.replace(name, u.of, nil)
	u.informer, u.of = nil, nil
	delete(i.index.users, name)
	if len(i.index.users) == 0 {
		delete(r.informers, i.reader.cluster.Key)
		i.stop()
	}
}

// Forget implements Source.
func (r *Related) Forget(name types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.early, name)
	if u := r.users[name]; u != nil {
		r.leave(name, u)
		delete(r.users, name)
	}
}

// State implements Source.
func (r *Related) State(name types.NamespacedName) State {
	r.mu.Lock()
	defer r.mu.Unlock()
	u := r.users[name]
	switch {
	case u == nil, u.waits:
		return State{Waits: true}
	case u.failure != "":
		return State{Failure: u.failure, Since: u.since}
	case u.informer.watch.failure != "":
		return State{Failure: u.informer.watch.failure, Since: u.informer.watch.since}
	}
	return State{Waits: !u.informer.watch.synced}
}

// Get returns the objects that are related to a component, sorted by namespace and name. Objects that are not kept are
// read. The caller may change the result.
func (r *Related) Get(ctx context.Context, name types.NamespacedName) ([]client.Object, error) {
	i, keys, err := r.related(name)
	if err != nil {
		return nil, err
	}
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
func (r *Related) GetNamed(
	ctx context.Context, name types.NamespacedName, key client.ObjectKey,
) (client.Object, error) {
	i, isRelated, err := r.isRelated(name, key)
	switch {
	case err != nil:
		return nil, err
	case !isRelated:
		return nil, i.reader.notFound(key)
	}
	return i.copied(ctx, key)
}

// related returns the informer of a component, and the existing objects that are related to it, sorted.
func (r *Related) related(name types.NamespacedName) (*informer, []client.ObjectKey, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	u, err := r.syncedUser(name)
	if err != nil {
		return nil, nil, err
	}
	return u.informer, u.informer.keysOf(name, u.of), nil
}

// isRelated returns the informer of a component, and whether an existing object is related to the component.
func (r *Related) isRelated(name types.NamespacedName, key client.ObjectKey) (*informer, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	u, err := r.syncedUser(name)
	if err == nil {
		err = u.informer.checkNamespaces(key)
	}
	if err != nil {
		return nil, false, err
	}
	return u.informer, u.informer.objects[key] != nil && u.informer.index.isRelated(key, name), nil
}

// syncedUser returns a component whose related objects are known. The caller holds the lock.
func (r *Related) syncedUser(name types.NamespacedName) (*user, error) {
	u := r.users[name]
	switch {
	case u == nil, u.waits:
		return nil, errNoValue
	case u.informer == nil:
		return nil, errors.New(u.failure)
	case !u.informer.watch.synced && u.informer.watch.failure != "":
		return nil, errors.New(u.informer.watch.failure)
	case !u.informer.watch.synced:
		return nil, errNoValue
	}
	return u, u.informer.checkNamespaces(u.of...)
}
