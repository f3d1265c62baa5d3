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

// newObserver returns an Observer for tests that send events to its watches without reflectors.
func newObserver(t *testing.T) *Observer {
	t.Helper()
	o := New(t.Context(), Options{Reconciler: reconciler})
	o.definitions.start = func(context.Context) {}
	return o
}

// addWatch adds a watch on dependents that has no reflector and no users. The watch is in sync.
func addWatch(o *Observer, reader Reader, r WatchedResource, cancel context.CancelFunc) *dependentWatch {
	w := newDependentWatch(o, r, "", cancel)
	w.progress, w.reason, w.message = progress{listed: true, watching: true}, plan.WaitNone, ""
	o.dependents.add(reader, r, w)
	return w
}

// watchFixture is a watch on ConfigMaps with the users "us" and "them". It records the enqueued components.
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

// take returns the names of the components that were enqueued since the last call.
func (f *watchFixture) take() string {
	f.observer.mu.Lock()
	defer f.observer.mu.Unlock()
	enqueued := strings.Join(f.enqueued, ", ")
	f.enqueued = nil
	return enqueued
}

// expect checks the enqueued components and the stored resource version. An empty version means that the object is
// absent.
func (f *watchFixture) expect(t *testing.T, enqueued, version string) {
	t.Helper()
	if got := f.take(); got != enqueued {
		t.Errorf("the watch enqueued the components %q, want %q", got, enqueued)
	}
	live := f.observer.Live(Reader{}, settings)
	if live.ResourceVersion != version || (live.Presence == plan.Present) != (version != "") {
		t.Errorf("the watch shows the object as %s in version %q, want version %q", live.Presence,
			live.ResourceVersion, version)
	}
}

// unlisted makes the objects of the watch unknown.
func (f *watchFixture) unlisted(reason plan.WaitReason) { f.progress, f.reason = progress{}, reason }

// Live returns the state of one object.
func (o *Observer) Live(reader Reader, key manifests.Key) plan.Observed {
	return o.Snapshot(reader, []manifests.Key{key}).Of(key)
}

// at returns the metadata of a ConfigMap with a resource version, as a watch on metadata delivers it.
func at(version, ownerID string, uid types.UID) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: settings.Namespace, Name: settings.Name, UID: uid, ResourceVersion: version,
		Labels: map[string]string{reconciler + "/owner-id": ownerID},
	}}
}

// answer returns the object in the response to a write of the reconciler.
func answer(version string) *plan.Observed {
	return &plan.Observed{Presence: plan.Present, UID: "u1", ResourceVersion: version, Owner: "us", Values: "v"}
}

// deleteAnswer returns the facts in the response to a delete of the reconciler.
func deleteAnswer(uid types.UID) *plan.Observed {
	return &plan.Observed{Presence: plan.Absent, Confirmed: true, UID: uid}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// asUnstructured converts metadata into an object as a watch on whole objects delivers it.
func asUnstructured(t *testing.T, obj *metav1.PartialObjectMetadata) *unstructured.Unstructured {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	must(t, err)
	return &unstructured.Unstructured{Object: content}
}
