package related

import (
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
)

// store holds the objects of an informer, and the components that use them. It is safe for concurrent use. Its methods
// return what the informer has to do, and do not wait.
type store struct {
	mu       sync.Mutex
	versions versions
}

func newStore(convert converter) store { return store{versions: newVersions(convert)} }

// update stores an object of a watch.
func (s *store) update(incoming *object) effects {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.versions.observe(incoming)
}

// remove removes an object that was deleted, unless a newer one with the same name is stored. last is its state at the
// deletion; nil if it is not known.
func (s *store) remove(m metav1.Object, last *object) (e effects, removed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := client.ObjectKey{Namespace: m.GetNamespace(), Name: m.GetName()}
	stored := s.versions.objects[key]
	if stored == nil || inspect.Newer(stored.version(), m.GetResourceVersion()) && stored.meta.UID != m.GetUID() {
		return e, false
	}
	return s.versions.remove(key, last), true
}

// replace stores a complete list of the objects that includes selects.
func (s *store) replace(
	includes func(client.ObjectKey) bool, listed map[client.ObjectKey]*object, version string,
) (e effects) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, stored := range s.versions.objects {
		if includes(key) && listed[key] == nil && !inspect.Newer(stored.version(), version) {
			e.add(s.versions.remove(key, nil))
		}
	}
	for _, incoming := range listed {
		e.add(s.versions.observe(incoming))
	}
	return e
}

// relate makes a component use the objects that it names.
func (s *store) relate(name types.NamespacedName, previous, of []client.ObjectKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.versions.index.users[name] = true
	s.versions.index.byObject.replace(name, previous, of)
}

// leave ends the use of the objects by a component, and reports whether no component uses them.
func (s *store) leave(name types.NamespacedName, of []client.ObjectKey) (isUnused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.versions.index.byObject.replace(name, of, nil)
	delete(s.versions.index.users, name)
	return len(s.versions.index.users) == 0
}

// usersAt stores whether the objects are known, and returns the components that use them.
func (s *store) usersAt(synced bool) []types.NamespacedName {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.versions.synced = s.versions.synced || synced
	return slices.Collect(maps.Keys(s.versions.index.users))
}

// keysOf returns the existing objects of a component, sorted. of are the objects that the component names.
func (s *store) keysOf(name types.NamespacedName, of []client.ObjectKey) []client.ObjectKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.versions.keysOf(name, of)
}

// isRelated reports whether an object exists and is related to a component.
func (s *store) isRelated(name types.NamespacedName, key client.ObjectKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.versions.objects[key] != nil && s.versions.index.isRelated(key, name)
}

// kept returns an object if its current version is in memory, and notes that it is wanted.
func (s *store) kept(key client.ObjectKey) client.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.versions.objects[key]
	switch {
	case o == nil:
		return nil
	case s.versions.options.MetadataOnly:
		return o.meta
	case o.body == nil:
		return nil
	}
	o.touched = time.Now()
	return o.body
}

// keep keeps the body of an object that was read, if it is the current version.
func (s *store) keep(key client.ObjectKey, read *object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.versions.objects[key]; o != nil && o.version() == read.version() {
		o.body, o.touched = read.body, time.Now()
	}
}

// known returns a copy of the stored form of an object; nil if the object is not known.
func (s *store) known(key client.ObjectKey) *object {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.versions.objects[key]
	if o == nil {
		return nil
	}
	copied := *o
	return &copied
}

// storeRead stores an object that was read, and returns a copy of its stored form.
func (s *store) storeRead(key client.ObjectKey, read *object) (object, effects) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.versions.storeRead(key, read)
	return *read, e
}

// nextRequested returns an object that has to be read to compare it, and its version. If found is false, the goroutine
// that asks ends. If the informer has ended, no object has to be read.
func (s *store) nextRequested(ended bool) (key client.ObjectKey, version string, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		key, found = s.versions.comparison.next()
		if !found {
			return key, "", false
		}
		if o := s.versions.objects[key]; o != nil && o.compared.isUnread && !ended {
			return key, o.version(), true
		}
	}
}

// endRequested wakes the components of an object if its version was not compared, because the read failed, or returned
// an older version.
func (s *store) endRequested(key client.ObjectKey, version string, err error) (e effects) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.versions.objects[key]
	if o == nil || !o.compared.isUnread || o.version() != version {
		return e
	}
	if err != nil && !apierrors.IsNotFound(err) {
		e.failed = 1
	}
	e.add(s.versions.follow(s.versions.comparison.ofFailure(o), change{key: key, after: o}))
	return e
}

// beginWrite notes that a component writes an object.
func (s *store) beginWrite(name types.NamespacedName, key client.ObjectKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.versions.writes.begin(key, name)
	if o := s.versions.objects[key]; o != nil && o.compared.isUnread {
		s.versions.writes.hold(key, name, o.version()) // A change by another client, which is not compared yet.
	}
}

// endWrite notes that a component wrote an object. written is nil if the result is not known.
func (s *store) endWrite(name types.NamespacedName, key client.ObjectKey, written *object) effects {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.versions.endWrite(name, key, written)
}

// evict drops bodies that were not touched for the idle time.
func (s *store) evict(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.versions.objects {
		if o.body != nil && now.Sub(o.touched) > s.versions.options.Idle {
			o.body = nil
		}
	}
}

func (s *store) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.versions.objects)
}
