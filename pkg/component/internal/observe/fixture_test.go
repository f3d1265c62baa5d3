package observe

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const reconciler = "shop.example.com"

var (
	configMaps = schema.GroupKind{Kind: "ConfigMap"}
	settings   = manifests.Key{Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
	widgets    = schema.GroupKind{Group: "example.com", Kind: "Widget"}
)

// newObserver returns an Observer whose watches are fed by the test instead of by reflectors.
func newObserver(t *testing.T) *Observer {
	t.Helper()
	o := New(t.Context(), Options{Reconciler: reconciler})
	o.definitions.start = func(context.Context) {}
	return o
}

// addWatch adds a watch on dependents without a reflector, whose first list was answered. It has no users.
func addWatch(o *Observer, reader Reader, r WatchedResource, cancel context.CancelFunc) *dependentWatch {
	w := newDependentWatch(o, r, "", cancel)
	w.progress, w.reason, w.message = progress{listed: true, watching: true}, plan.WaitNone, ""
	o.dependents.add(reader, r, w)
	return w
}

// watchFixture is a watch on ConfigMaps with the users "us" and "them". It notes who is enqueued.
type watchFixture struct {
	*dependentWatch
	enqueued []string
}

func newWatchFixture(t *testing.T) *watchFixture {
	t.Helper()
	o := newObserver(t)
	f := &watchFixture{dependentWatch: addWatch(o, Reader{}, WatchedResource{Type: configMaps}, func() {})}
	for _, name := range []string{"us", "them"} {
		f.users[name] = true
		o.components[name] = &component{
			resources: map[WatchedResource]string{f.resource: "v1"},
			enqueue:   func() { f.enqueued = append(f.enqueued, name) },
		}
	}
	return f
}

// take returns who was enqueued since the last call.
func (f *watchFixture) take() string {
	f.observer.mu.Lock()
	defer f.observer.mu.Unlock()
	enqueued := strings.Join(f.enqueued, ", ")
	f.enqueued = nil
	return enqueued
}

// expect compares who was enqueued and the known version; an empty version stands for an absent object.
func (f *watchFixture) expect(t *testing.T, enqueued, version string) {
	t.Helper()
	if got := f.take(); got != enqueued {
		t.Errorf("enqueued: %q, want %q", got, enqueued)
	}
	live := f.observer.Live(Reader{}, settings)
	if live.ResourceVersion != version || (live.Presence == plan.Present) != (version != "") {
		t.Errorf("known: %s %q, want %q", live.Presence, live.ResourceVersion, version)
	}
}

// unlisted makes the objects of the watch unknown.
func (f *watchFixture) unlisted(reason plan.WaitReason) { f.progress, f.reason = progress{}, reason }

// Live returns the state of one object.
func (o *Observer) Live(reader Reader, key manifests.Key) plan.Observed {
	return o.Snapshot(reader, []manifests.Key{key}).Of(key)
}

// at returns a ConfigMap in a resource version, as the watch on metadata shows it.
func at(version, ownerID string, uid types.UID) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: settings.Namespace, Name: settings.Name, UID: uid, ResourceVersion: version,
		Labels: map[string]string{reconciler + "/owner-id": ownerID},
	}}
}

// answer returns the object in the answer to a write of us.
func answer(version string) *plan.Observed {
	return &plan.Observed{Presence: plan.Present, UID: "u1", ResourceVersion: version, Owner: "us", Values: "v"}
}

// deleteAnswer returns the answer to a delete.
func deleteAnswer(uid types.UID) *plan.Observed {
	return &plan.Observed{Presence: plan.Absent, Confirmed: true, UID: uid}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// asUnstructured returns an object as the watch on whole objects shows it.
func asUnstructured(t *testing.T, obj *metav1.PartialObjectMetadata) *unstructured.Unstructured {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	must(t, err)
	return &unstructured.Unstructured{Object: content}
}
