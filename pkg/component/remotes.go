package component

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// remotes are the engines of other clusters: one for each kubeconfig, shared by all components that use it, and closed when the last of
// them leaves.
type remotes struct {
	open func(ctx context.Context, kubeconfig []byte) (*Engine, error)
	// lifetime bounds that of all engines.
	lifetime context.Context

	mu     sync.Mutex
	shared map[digest]*remote
	uses   map[types.NamespacedName]use
}

// digest identifies the content of a kubeconfig.
type digest [sha256.Size]byte

// use says which remote a component uses, and which version of which Secret led there.
type use struct {
	remote *remote
	origin origin
}

// origin is a kubeconfig as it was read.
type origin struct{ secret, key, version string }

// remote is the engine of another cluster.
type remote struct {
	engine *Engine
	digest digest
	close  context.CancelFunc
	// users counts the components that use it.
	users int

	mu sync.Mutex
	// cluster identifies the cluster, once that is known; until then failure says why it was not known at that time.
	cluster string
	failure error
	until   time.Time
}

func newRemotes(ctx context.Context, open func(context.Context, []byte) (*Engine, error)) *remotes {
	return &remotes{open: open, lifetime: ctx, shared: map[digest]*remote{}, uses: map[types.NamespacedName]use{}}
}

// used returns the remote that a component uses, if it comes from that source.
func (r *remotes) used(name types.NamespacedName, from origin) (*remote, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	u, ok := r.uses[name]
	return u.remote, ok && u.origin == from
}

// enter makes a component use the remote of a kubeconfig; it leaves the one that it used before.
func (r *remotes) enter(name types.NamespacedName, owner manifests.Owner, from origin, kubeconfig []byte) (*remote, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := digest(sha256.Sum256(kubeconfig))
	entered := r.shared[d]
	if entered == nil {
		ctx, cancel := context.WithCancel(r.lifetime)
		engine, err := r.open(ctx, kubeconfig)
		if err != nil {
			cancel()
			r.leave(name, owner)
			return nil, err
		}
		entered = &remote{engine: engine, digest: d, close: cancel}
		r.shared[d] = entered
	}
	if r.uses[name].remote != entered {
		entered.users++
		r.leave(name, owner)
	}
	r.uses[name] = use{remote: entered, origin: from}
	return entered, nil
}

// release makes a component leave the remote that it uses, if any.
func (r *remotes) release(name types.NamespacedName, owner manifests.Owner) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leave(name, owner)
}

// leave closes the remote when its last user leaves. The caller holds the lock.
func (r *remotes) leave(name types.NamespacedName, owner manifests.Owner) {
	u, ok := r.uses[name]
	if !ok {
		return
	}
	delete(r.uses, name)
	if u.remote.users--; u.remote.users > 0 {
		u.remote.engine.Forget(owner)
		return
	}
	delete(r.shared, u.remote.digest)
	u.remote.close()
	utilnet.CloseIdleConnectionsFor(u.remote.engine.client.Transport)
}

// identifyTimeout is how long a cluster may take to say which it is, for it holds up a worker; identifyPause is how long all who ask are
// told of a failure before the cluster is asked again, or identifyRest times as long as it took, if that is longer: while it is asked, all
// workers may wait for the answer, and components elsewhere for a worker.
const (
	identifyTimeout = 10 * time.Second
	identifyPause   = 2 * time.Second
	identifyRest    = 3
)

// identify returns the UID of the cluster's namespace kube-system.
func (r *remote) identify(ctx context.Context, c clock.PassiveClock) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	began := c.Now()
	if r.cluster != "" || r.failure != nil && began.Before(r.until) {
		return r.cluster, r.failure
	}
	r.cluster, r.failure = r.ask(ctx)
	r.until = c.Now().Add(max(identifyPause, identifyRest*c.Since(began)))
	return r.cluster, r.failure
}

func (r *remote) ask(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, identifyTimeout)
	defer cancel()
	namespaces := r.engine.metadata.Resource(corev1.SchemeGroupVersion.WithResource("namespaces"))
	system, err := namespaces.Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("identify the cluster by its namespace %s: %w", metav1.NamespaceSystem, err)
	}
	return string(system.UID), nil
}
