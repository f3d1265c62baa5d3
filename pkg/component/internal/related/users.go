package related

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
)

// users are the components that use related objects, and the informers that they use. An informer ends with its last
// component. users is safe for concurrent use. Its lock may be held while those of informers are taken, and never the
// other way round.
type users struct {
	convert converter

	mu   sync.Mutex
	run  context.Context
	port *eventsources.Port
	of   map[types.NamespacedName]*user
	// informers are the watches, by the key of their cluster.
	informers map[any]*informer
	// early are the components that were tracked before the begin.
	early map[types.NamespacedName]tracked
}

// tracked are the arguments of Objects.Track.
type tracked struct {
	obj      client.Object
	clusters eventsources.Clusters
}

// user is a component that uses an informer.
type user struct {
	informer *informer
	of       []client.ObjectKey
	// failure is the error of a mapper, or of the cluster. waits is set while the cluster is not known.
	failure string
	since   time.Time
	waits   bool
}

// newUsers returns users. The informers run with their own contexts instead of that of convert.
func newUsers(convert converter) users {
	return users{
		convert: convert, of: map[types.NamespacedName]*user{}, informers: map[any]*informer{},
		early: map[types.NamespacedName]tracked{},
	}
}

// begin stores where informers run, and returns the components that were tracked before.
func (s *users) begin(ctx context.Context, port *eventsources.Port) map[types.NamespacedName]tracked {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run, s.port = ctx, port
	early := s.early
	s.early = nil
	return early
}

// end ends all informers, and drops all components.
func (s *users) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.informers {
		i.stop()
	}
	s.of, s.informers, s.early = map[types.NamespacedName]*user{}, map[any]*informer{}, nil
}

// portOrKeep returns the port while the event source runs. Otherwise it returns nil. Before the start it keeps the
// component, so that the start assigns it an informer.
func (s *users) portOrKeep(name types.NamespacedName, t tracked) *eventsources.Port {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.run == nil && s.early != nil:
		s.early[name] = t
		return nil
	case s.run == nil, s.run.Err() != nil:
		return nil
	}
	return s.port
}

// assign makes a component use the informer of a cluster, for the objects that it names. failure is the error of an
// author's function or of the cluster; then the component keeps its informer.
func (s *users) assign(name types.NamespacedName, of []client.ObjectKey, at reachable, failure error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run.Err() != nil {
		return
	}
	u := s.of[name]
	if u == nil {
		u = &user{}
		s.of[name] = u
	}
	if failure == nil {
		failure = s.use(name, u, at)
	}
	if failure == nil {
		u.informer.objects.relate(name, u.of, of)
		u.of = of
		failure = u.informer.watch.checkNamespaces(of...)
	}
	u.setFailure(failure)
}

// setFailure stores an error, which may be nil.
func (u *user) setFailure(err error) {
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
func (s *users) use(name types.NamespacedName, u *user, at reachable) error {
	if u.informer != nil && u.informer.reader.cluster.Key == at.key {
		return nil
	}
	s.leave(name, u)
	i := s.informers[at.key]
	if i == nil {
		cluster, err := at.connect()
		if err != nil {
			return err
		}
		i = s.start(cluster)
		s.informers[at.key] = i
	}
	u.informer = i
	return nil
}

// leave makes a component stop using its informer, and ends the informer if no other component uses it. The caller
// holds the lock.
func (s *users) leave(name types.NamespacedName, u *user) {
	i := u.informer
	if i == nil {
		return
	}
	isUnused := i.objects.leave(name, u.of)
	u.informer, u.of = nil, nil
	if isUnused {
		delete(s.informers, i.reader.cluster.Key)
		i.stop()
	}
}

// start starts the informer of a cluster. The caller holds the lock.
func (s *users) start(cluster eventsources.Cluster) *informer {
	atHome := cluster.Key == s.port.Home().Key
	namespaces := s.convert.options.Namespaces
	if len(namespaces) == 0 && atHome {
		namespaces = s.port.Namespaces()
	}
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	ctx, stop := context.WithCancel(s.run)
	convert := s.convert
	convert.run = ctx
	i := newInformer(convert, s.port, cluster, namespaces)
	i.atHome = atHome
	i.stop = func() {
		stop()
		if cluster.Close != nil {
			cluster.Close()
		}
	}
	if namespaces[0] == metav1.NamespaceAll {
		i.startParts()
	} else {
		go s.startParts(i, namespaces)
	}
	return i
}

// startParts starts the watches of an informer on namespaces. If the type is cluster-scoped, it starts one watch
// without a namespace.
func (s *users) startParts(i *informer, namespaces []string) {
	isNamespaced, known := observe.AwaitScope(i.convert.run, i.followOptions(i.watch.parts[0]))
	if !known {
		return
	}
	s.setScope(i, isNamespaced, namespaces)
	i.startParts()
}

// setScope stores whether the type is namespaced. Components whose objects are in other namespaces then have a failure.
func (s *users) setScope(i *informer, isNamespaced bool, namespaces []string) {
	i.watch.setScope(isNamespaced, namespaces)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.of {
		if u.informer == i && u.failure == "" && !u.waits {
			u.setFailure(i.watch.checkNamespaces(u.of...))
		}
	}
}

// forget drops everything about a component.
func (s *users) forget(name types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.early, name)
	if u := s.of[name]; u != nil {
		s.leave(name, u)
		delete(s.of, name)
	}
}

func (s *users) state(name types.NamespacedName) eventsources.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.of[name]
	switch {
	case u == nil, u.waits:
		return eventsources.State{Waits: true}
	case u.failure != "":
		return eventsources.State{Failure: u.failure, Since: u.since}
	}
	return u.informer.watch.state()
}

// synced returns the informer of a component, and the objects that the component names. It returns an error as long as
// the related objects are not known.
func (s *users) synced(name types.NamespacedName) (*informer, []client.ObjectKey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.of[name]
	switch {
	case u == nil, u.waits:
		return nil, nil, eventsources.ErrNoValue
	case u.informer == nil:
		return nil, nil, errors.New(u.failure)
	}
	if err := u.informer.watch.ready(); err != nil {
		return nil, nil, err
	}
	return u.informer, u.of, u.informer.watch.checkNamespaces(u.of...)
}

// informerOf returns the informer of a component; nil if it has none.
func (s *users) informerOf(name types.NamespacedName) *informer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.of[name]; u != nil {
		return u.informer
	}
	return nil
}

func (s *users) allInformers() []*informer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.informers))
}

// size returns the number of objects, and of the components whose related objects are not current.
func (s *users) size() (objects, stale int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.informers {
		objects += i.objects.size()
	}
	for _, u := range s.of {
		if u.failure != "" || u.informer != nil && u.informer.watch.state().Failure != "" {
			stale++
		}
	}
	return objects, stale
}
