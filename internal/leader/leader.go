package leader

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
)

// requestTimeout is the timeout of requests for the Lease: half of the time after which the manager of
// controller-runtime gives up.
const requestTimeout = 5 * time.Second

// namespaceFile contains the namespace of the pod.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// Lock is the Lease of an operator. It notes what each request of the leader election says about the leader.
type Lock struct {
	resourcelock.Interface

	mu     sync.Mutex
	holder string
	// until is the time at which another replica can take the Lease over, if this replica holds it.
	until time.Time
}

// Options configure the Lease of an operator.
type Options struct {
	// Namespace of the Lease; by default the namespace of the pod.
	Namespace string
	// Address is where other replicas reach this one. It is part of the identity in the Lease; the zero value means that
	// they do not reach it.
	Address netip.AddrPort
	// Watched are the namespaces whose components the operator reconciles. None means all namespaces.
	Watched []string
	// Version of the operator. The Lease says it to the command line.
	Version string
}

// annotations returns the annotations of the Lease.
func (o Options) annotations() map[string]string {
	return map[string]string{AnnotationWatched: watchedValue(o.Watched), AnnotationVersion: o.Version}
}

// New returns the Lease of the operator, as ctrl.Options.LeaderElectionResourceLockInterface. Its name is Name. ctx
// ends the recorder of the Events about leaders.
func New(ctx context.Context, config *rest.Config, o Options) (*Lock, error) {
	namespace := o.Namespace
	if namespace == "" {
		content, err := os.ReadFile(namespaceFile)
		if err != nil {
			return nil, fmt.Errorf("find the namespace of the Lease: %w; outside of a cluster, set it", err)
		}
		namespace = strings.TrimSpace(string(content))
	}
	identity, err := identityAt(o.Address)
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.UserAgent += "/leader-election"
	config.Timeout = requestTimeout
	objects, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	leases, err := coordinationv1client.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	events := record.NewBroadcaster(record.WithContext(ctx))
	events.StartRecordingToSink(&corev1client.EventSinkImpl{Interface: objects.Events(namespace)})
	return Observe(&resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: namespace, Name: Name},
		Client:    announcing{leases, o.annotations()},
		LockConfig: resourcelock.ResourceLockConfig{
			Identity: identity, EventRecorder: events.NewRecorder(scheme, corev1.EventSource{Component: identity}),
		},
	}), nil
}

// Observe returns a Lock that notes what the requests of another lock say.
func Observe(lock resourcelock.Interface) *Lock { return &Lock{Interface: lock} }

// identityAt returns a unique identity: the host name, a random UUID, and the address if it is valid, joined by
// underscores.
func identityAt(address netip.AddrPort) (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", err
	}
	identity := host + "_" + string(uuid.NewUUID())
	if address.IsValid() {
		identity += "_" + address.String()
	}
	return identity, nil
}

// Get implements resourcelock.Interface.
func (l *Lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	found, raw, err := l.Interface.Get(ctx)
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.holder = found.HolderIdentity
	}
	return found, raw, err
}

// Create implements resourcelock.Interface.
func (l *Lock) Create(ctx context.Context, wanted resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, wanted, l.Interface.Create)
}

// Update implements resourcelock.Interface.
func (l *Lock) Update(ctx context.Context, wanted resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, wanted, l.Interface.Update)
}

func (l *Lock) write(
	ctx context.Context, wanted resourcelock.LeaderElectionRecord,
	request func(context.Context, resourcelock.LeaderElectionRecord) error,
) error {
	if wanted.HolderIdentity != l.Identity() {
		// The Lease is given up. From here on another replica may hold it, whatever the response is.
		l.note("", time.Time{})
	}
	// Other replicas measure the duration from the moment at which they see this write, which is later.
	until := time.Now().Add(time.Duration(wanted.LeaseDurationSeconds) * time.Second)
	if err := request(ctx, wanted); err != nil {
		return err
	}
	l.note(wanted.HolderIdentity, until)
	return nil
}

func (l *Lock) note(holder string, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holder, l.until = holder, until
}

// Held reports whether this replica holds the Lease, and no other replica can have taken it over yet.
func (l *Lock) Held() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.holder == l.Identity() && time.Now().Before(l.until)
}

// Other returns the address of the replica that holds the Lease, if another replica held it at the last request, some
// seconds ago, and if it has an address of a pod.
func (l *Lock) Other() (address netip.AddrPort, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holder == l.Identity() {
		return address, false
	}
	address, err := netip.ParseAddrPort(l.holder[strings.LastIndex(l.holder, "_")+1:])
	if err != nil || address.Port() == 0 || !IsReachable(address.Addr()) {
		return netip.AddrPort{}, false
	}
	return address, true
}

// IsReachable reports whether a replica can have an address. Link-local addresses are refused, because services of
// nodes have them, such as the one with the credentials of a cloud. Loopback addresses are allowed for replicas on one
// machine.
func IsReachable(ip netip.Addr) bool {
	ip = ip.Unmap()
	return ip.IsValid() && ip.Zone() == "" && (ip.IsGlobalUnicast() || ip.IsLoopback())
}
