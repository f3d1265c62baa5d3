package aggregate

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// event is a change of an object. The object has the resource version of the change.
type event struct {
	kind    string
	version int
	object  *unstructured.Unstructured
}

// store holds objects and all changes since its start.
type store struct {
	mu      sync.Mutex
	version int
	objects map[address]*unstructured.Unstructured
	events  []event
	// changed is closed at the next change. broken is closed when all watches must end.
	changed, broken chan struct{}
	closed          bool
}

func newStore() *store {
	return &store{
		version: 1,
		objects: map[address]*unstructured.Unstructured{},
		changed: make(chan struct{}),
		broken:  make(chan struct{}),
	}
}

func (s *store) get(a address) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[a]
}

// put creates or replaces an object. A replaced object keeps its UID.
func (s *store) put(a address, obj *unstructured.Unstructured) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.resource = "things"
	kind, uid, created := "ADDED", uuid.NewUUID(), metav1.NewTime(time.Now())
	if old := s.objects[a]; old != nil {
		kind, uid, created = "MODIFIED", old.GetUID(), old.GetCreationTimestamp()
	}
	obj.SetUID(types.UID(uid))
	obj.SetCreationTimestamp(created)
	s.objects[a] = s.record(kind, obj)
	return s.objects[a]
}

func (s *store) delete(a address) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.objects[a]
	if old == nil {
		return nil
	}
	delete(s.objects, a)
	return s.record("DELETED", old.DeepCopy())
}

// record assigns a resource version to a change and stores it. The caller holds the lock.
func (s *store) record(kind string, obj *unstructured.Unstructured) *unstructured.Unstructured {
	s.version++
	obj.SetResourceVersion(strconv.Itoa(s.version))
	s.events = append(s.events, event{kind, s.version, obj})
	close(s.changed)
	s.changed = make(chan struct{})
	return obj
}

func (s *store) list(namespace, selector string) (objects []*unstructured.Unstructured, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for a, obj := range s.objects {
		if (namespace == "" || namespace == a.namespace) && selected(selector, obj) {
			objects = append(objects, obj)
		}
	}
	slices.SortFunc(objects, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return objects, strconv.Itoa(s.version)
}

func selected(selector string, obj *unstructured.Unstructured) bool {
	parsed, err := labels.Parse(selector)
	return err == nil && parsed.Matches(labels.Set(obj.GetLabels()))
}

// watch sends the changes since a version and all further changes, until the client disconnects or all watches must
// end.
func (s *store) watch(w http.ResponseWriter, r *http.Request) {
	since, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	flusher, _ := w.(http.Flusher)
	for {
		events, changed, broken := s.since(since)
		for _, e := range events {
			since = e.version
			if selected(r.URL.Query().Get("labelSelector"), e.object) {
				_ = json.NewEncoder(
					w,
				).Encode(
					map[string]any{"type": e.kind, "object": shape(r, e.object)},
				) // The client has disconnected.
			}
		}
		flusher.Flush()
		select {
		case <-changed:
		case <-broken:
			return
		case <-r.Context().Done():
			return
		}
	}
}

func (s *store) since(version int) (events []event, changed, broken <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e.version > version {
			events = append(events, e)
		}
	}
	return events, s.changed, s.broken
}

// interrupt ends all watches. Clients can start new watches.
func (s *store) interrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		close(s.broken)
		s.broken = make(chan struct{})
	}
}

// close ends all watches permanently.
func (s *store) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.broken)
	}
}
