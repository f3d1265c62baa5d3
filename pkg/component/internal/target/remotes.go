package target

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Remotes are the connections to other clusters: one for each content of a kubeconfig, shared by all components that
// use it. A connection is closed when no component uses it any more.
type Remotes struct {
	connect  func(ctx context.Context, kubeconfig []byte) (*Connection, error)
	lifetime context.Context
	clock    clock.PassiveClock
	// requests are the requests for ids of clusters.
	requests *Turns

	mu     sync.Mutex
	shared map[digest]*remote
	uses   map[types.NamespacedName]use
}

// digest identifies the content of a kubeconfig.
type digest [sha256.Size]byte

// use is the remote that a component uses, and the version of the Secret that its kubeconfig was read from.
type use struct {
	remote *remote
	origin origin
}

// origin identifies a version of a kubeconfig: the Secret, the key in the Secret, and the resource version of the
// Secret.
type origin struct{ secret, key, version string }

// NewRemotes returns Remotes that open connections with the function connect. All connections end with ctx.
func NewRemotes(
	ctx context.Context, c clock.PassiveClock, connect func(context.Context, []byte) (*Connection, error),
) *Remotes {
	r := &Remotes{
		connect: connect, lifetime: ctx, clock: c,
		shared: map[digest]*remote{}, uses: map[types.NamespacedName]use{},
	}
	r.requests = NewTurns(identifying, identifyingEach, func(request types.NamespacedName) {
		if r.requests.Take(request) {
			go r.ask(request)
		}
	})
	return r
}

// used returns the remote of a component, if the component acquired it from the same version of the same Secret.
func (r *Remotes) used(name types.NamespacedName, from origin) (*remote, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	u, ok := r.uses[name]
	return u.remote, ok && u.origin == from
}

// acquire makes a component use the remote of a kubeconfig, and releases the previous remote of the component.
func (r *Remotes) acquire(
	name types.NamespacedName,
	owner manifests.Owner,
	from origin,
	kubeconfig []byte,
) (*remote, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := digest(sha256.Sum256(kubeconfig))
	acquired := r.shared[d]
	if acquired == nil {
		ctx, cancel := context.WithCancel(r.lifetime)
		connection, err := r.connect(ctx, kubeconfig)
		if err != nil {
			cancel()
			r.leave(name, owner)
			return nil, err
		}
		acquired = &remote{connection: connection, digest: d, lifetime: ctx, close: cancel}
		r.shared[d] = acquired
	}
	if r.uses[name].remote != acquired {
		acquired.users++
		r.leave(name, owner)
	}
	r.uses[name] = use{remote: acquired, origin: from}
	return acquired, nil
}

// release releases the remote of a component, if it has one.
func (r *Remotes) release(name types.NamespacedName, owner manifests.Owner) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leave(name, owner)
}

// leave makes a component stop using its remote, and closes the remote if no other component uses it. The caller holds
// the lock.
func (r *Remotes) leave(name types.NamespacedName, owner manifests.Owner) {
	u, ok := r.uses[name]
	if !ok {
		return
	}
	delete(r.uses, name)
	if u.remote.users--; u.remote.users > 0 {
		u.remote.connection.Release(owner)
		return
	}
	delete(r.shared, u.remote.digest)
	u.remote.close()
	u.remote.connection.closeIdle()
}

// The ids of clusters are requested outside the workers of the controller, because a cluster may never respond. A
// request has the timeout identifyTimeout. After a failure, no request is sent for identifyPause, or for identifyRest
// times the duration of the failed request if that is longer. At most identifying requests run at the same time, and at
// most identifyingEach for the components of a namespace.
const (
	identifyTimeout = 10 * time.Second
	identifyPause   = 2 * time.Second
	identifyRest    = 3
	identifying     = 16
	identifyingEach = 4
)

// remote is a connection to another cluster.
type remote struct {
	connection *Connection
	digest     digest
	// lifetime ends when the function close closes the connection.
	lifetime context.Context
	close    context.CancelFunc
	// users is the number of components that use the remote.
	users int

	mu sync.Mutex
	// cluster is the id of the cluster, empty until it is known. Until then, failure is the error of the last request, and
	// the next request may be sent at the time until.
	cluster string
	failure error
	until   time.Time
	// asking is set while a request is running or waits for its turn. wakes are the calls at its end, by component.
	asking bool
	wakes  map[types.NamespacedName]func()
}

// unknown is the error for a cluster whose id is not known, because the last request failed.
type unknown struct {
	cause error
	// after is the delay until another request may be sent. The end of a running request wakes the component earlier.
	after time.Duration
}

// Error implements error.
func (e *unknown) Error() string { return e.cause.Error() }

// Unwrap returns the error of the request.
func (e *unknown) Unwrap() error { return e.cause }

// identify returns the id of the cluster of a remote. If the id is not known, identify starts a request for it, and
// wake is called at the end of the request. Until then, the error is passerror.ErrObserving, or an unknown error with
// the error of the last request. identify never waits.
func (r *Remotes) identify(name types.NamespacedName, from *remote, wake func()) (string, error) {
	from.mu.Lock()
	defer from.mu.Unlock()
	if from.cluster != "" {
		return from.cluster, nil
	}
	left := from.until.Sub(r.clock.Now())
	if !from.asking && left <= 0 {
		from.asking, from.wakes = true, map[types.NamespacedName]func(){}
		request := types.NamespacedName{Namespace: name.Namespace, Name: string(from.digest[:])}
		if r.requests.Take(request) {
			go r.ask(request)
		}
	}
	if from.asking {
		from.wakes[name], left = wake, identifyTimeout
	}
	if from.failure == nil {
		return "", passerror.ErrObserving
	}
	return "", &unknown{cause: from.failure, after: left}
}

// ask requests the id of a cluster. The name of the request is the digest of the kubeconfig.
func (r *Remotes) ask(request types.NamespacedName) {
	r.mu.Lock()
	from, used := r.shared[digest([]byte(request.Name))]
	r.mu.Unlock()
	if !used {
		r.requests.Release(request)
		return
	}
	began := r.clock.Now()
	cluster, failure := clusterID(from.lifetime, from.connection)
	r.requests.Release(request)
	from.mu.Lock()
	from.cluster, from.failure = cluster, failure
	from.until = r.clock.Now().Add(max(identifyPause, identifyRest*r.clock.Since(began)))
	wakes := from.wakes
	from.asking, from.wakes = false, nil
	from.mu.Unlock()
	for _, wake := range wakes {
		wake()
	}
}

// clusterID requests the id of a cluster.
func clusterID(ctx context.Context, connection *Connection) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, identifyTimeout)
	defer cancel()
	return connection.ClusterID(ctx)
}
