package observe

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// dependentObjects stores the objects of a watch on dependents.
type dependentObjects struct {
	observed map[manifests.Key]*plan.Observed
	// deleted contains the UIDs of objects that the reconciler deleted, until the watch shows the deletion. Earlier watch
	// events of such an object can arrive after the response to the delete. They must not make the object present again.
	deleted map[manifests.Key]types.UID
	// bodies contains the latest received version of each whole object. It contains only objects of the types in
	// Options.WithBodies.
	bodies map[manifests.Key]*unstructured.Unstructured
}

func newDependentObjects() dependentObjects {
	return dependentObjects{
		observed: map[manifests.Key]*plan.Observed{}, deleted: map[manifests.Key]types.UID{},
		bodies: map[manifests.Key]*unstructured.Unstructured{},
	}
}

// present reports whether the watch shows an object.
func (s dependentObjects) present(key manifests.Key) bool {
	o := s.observed[key]
	return o != nil && o.Presence == plan.Present
}

// putBody stores the body of an object, if its type is stored with bodies, and if the stored facts have the same
// resource version.
func (s dependentObjects) putBody(object *observedObject) {
	observed := s.observed[object.key]
	if object.body != nil && observed != nil && observed.ResourceVersion == object.ResourceVersion {
		s.bodies[object.key] = object.body
	}
}

func (s dependentObjects) remove(key manifests.Key) {
	delete(s.observed, key)
	delete(s.bodies, key)
}

// observedObject is the reduced form of an object that a reflector passes to its store.
type observedObject struct {
	plan.Observed
	key manifests.Key
	// body is set if the type is stored with bodies.
	body *unstructured.Unstructured
}

// GetObjectMeta returns the namespace and the name, because the reflector reads them.
func (o *observedObject) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: o.key.Namespace, Name: o.key.Name}
}

// reduce returns the facts of an object, or nil if obj is not an object.
func (w *dependentWatch) reduce(obj any) *observedObject {
	switch x := obj.(type) {
	case *observedObject:
		return x
	case *unstructured.Unstructured:
		object := &observedObject{Observed: w.observer.view.Object(w.observer.lifetime, x), key: w.resource.keyOf(x)}
		object.Exports = w.observer.view.Exports(w.observer.lifetime, x)
		object.Copied = inspect.IsCopy(object.key, x, w.observer.reconciler)
		if w.withBodies {
			object.body = x
		}
		return object
	case metav1.Object:
		object := &observedObject{Observed: w.observer.view.Metadata(x), key: w.resource.keyOf(x)}
		object.Copied = inspect.IsCopy(object.key, x, w.observer.reconciler)
		return object
	}
	return nil
}

// keyOf returns the key of an object of the resource.
func (r WatchedResource) keyOf(o metav1.Object) manifests.Key {
	gk := r.Type
	return manifests.Key{Group: gk.Group, Kind: gk.Kind, Namespace: o.GetNamespace(), Name: o.GetName()}
}

// finishedLifetime is the time for which the Observer stores that a deleted object had finished its work. Usually the
// next pass writes this fact to the inventory. An hour is long enough even if some passes fail or are suspended.
const finishedLifetime = time.Hour

// rememberFinished stores the facts of a deleted object that had finished its work. The caller holds the lock.
func (w *dependentWatch) rememberFinished(key manifests.Key, o *plan.Observed) {
	o.Presence = plan.Absent
	w.objects.observed[key] = o
	time.AfterFunc(finishedLifetime, func() {
		w.observer.mu.Lock()
		defer w.observer.mu.Unlock()
		if w.objects.observed[key] == o {
			delete(w.objects.observed, key)
		}
	})
}
