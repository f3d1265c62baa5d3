package target

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Remotes are the connections to other clusters: one for each content of a kubeconfig, shared by all components that
// use it. A connection is closed when no component uses it any more.
type Remotes struct {
	connect  func(ctx context.Context, kubeconfig []byte) (*Connection, error)
	lifetime context.Context

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
func NewRemotes(ctx context.Context, connect func(context.Context, []byte) (*Connection, error)) *Remotes {
	return &Remotes{connect: connect, lifetime: ctx, shared: map[digest]*remote{}, uses: map[types.NamespacedName]use{}}
}

// used returns the remote of a component, if the component acquired it from the same version of the same Secret.
func (r *Remotes) used(name types.NamespacedName, from origin) (*remote, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	u, ok := r.uses[name]
	return u.remote, ok && u.origin == from
}

// acquire makes a component use the remote of a kubeconfig, and releases the former remote of the component.
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
		acquired = &remote{connection: connection, digest: d, close: cancel}
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

// A request for the id of a cluster blocks a worker, so it has the timeout identifyTimeout. After a failure, no request
// is sent for identifyPause, or for identifyRest times the duration of the failed request if that is longer. Otherwise
// all workers could wait for a cluster that does not respond.
const (
	identifyTimeout = 10 * time.Second
	identifyPause   = 2 * time.Second
	identifyRest    = 3
)

// remote is a connection to another cluster.
type remote struct {
	connection *Connection
	digest     digest
	close      context.CancelFunc
	// users is the number of components that use the remote.
	users int

	mu sync.Mutex
	// cluster is the id of the cluster, empty until it is known. Until then, failure is the error of the last request, and
	// the next request may be sent at the time until.
	cluster string
	failure error
	until   time.Time
}

// identify returns the id of the cluster. It sends a request to the cluster if the id is not known.
func (r *remote) identify(ctx context.Context, c clock.PassiveClock) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	began := c.Now()
	if r.cluster != "" || r.failure != nil && began.Before(r.until) {
		return r.cluster, r.failure
	}
	bound, cancel := context.WithTimeout(ctx, identifyTimeout)
	defer cancel()
	r.cluster, r.failure = r.connection.ClusterID(bound)
	r.until = c.Now().Add(max(identifyPause, identifyRest*c.Since(began)))
	return r.cluster, r.failure
}
