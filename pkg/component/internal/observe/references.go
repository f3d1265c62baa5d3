package observe

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
)

// Reference names an object whose content is an input of a component.
type Reference struct {
	Resource        schema.GroupVersionResource
	Namespace, Name string
}

// References tells in which resource version referenced objects exist, and wakes those who use them. It watches the metadata of a
// type in a namespace as long as something there is referenced, and keeps no more than names and resource versions of what is.
type References struct {
	lifetime context.Context
	metadata metadata.Interface

	mu     sync.Mutex
	owners map[string]referrer
	scopes map[scope]*referenced
}

type referrer struct {
	refs []Reference
	wake func()
}

// scope is a type in a namespace.
type scope struct {
	resource  schema.GroupVersionResource
	namespace string
}

// NewReferences returns References whose watches live as long as ctx.
func NewReferences(ctx context.Context, m metadata.Interface) *References {
	return &References{lifetime: ctx, metadata: m, owners: map[string]referrer{}, scopes: map[scope]*referenced{}}
}

// Retain says what an owner references, and how to wake it. It replaces what the owner retained before.
func (r *References) Retain(owner string, refs []Reference, wake func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.owners[owner] = referrer{refs: refs, wake: wake}
	for _, ref := range refs {
		s := scope{ref.Resource, ref.Namespace}
		if r.scopes[s] == nil {
			r.scopes[s] = r.start(s)
		}
	}
	r.stopUnused()
}

// Release forgets an owner.
func (r *References) Release(owner string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.owners[owner]; !ok {
		return
	}
	delete(r.owners, owner)
	r.stopUnused()
}

func (r *References) stopUnused() {
	used := map[scope]bool{}
	for _, o := range r.owners {
		for _, ref := range o.refs {
			used[scope{ref.Resource, ref.Namespace}] = true
		}
	}
	for s, watched := range r.scopes {
		if !used[s] {
			watched.cancel()
			delete(r.scopes, s)
		}
	}
}

// Version returns the resource version of a retained reference, "" where the object does not exist. known is false until its type was
// listed; failure says why that did not work.
func (r *References) Version(ref Reference) (version string, known bool, failure string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.scopes[scope{ref.Resource, ref.Namespace}]
	if s == nil {
		return "", false, ""
	}
	return s.versions[ref.Name], s.synced, s.failure
}

func (r *References) start(s scope) *referenced {
	ctx, cancel := context.WithCancel(r.lifetime)
	w := &referenced{references: r, scope: s, cancel: cancel, versions: map[string]string{}}
	go loop{
		source: func() (*cache.ListWatch, error) {
			return listWatch(r.metadata.Resource(s.resource).Namespace(s.namespace), ""), nil
		},
		store: w, name: "referenced " + s.resource.Resource + " in " + s.namespace,
	}.run(ctx)
	return w
}

// referenced is the store beneath the reflector of one scope.
type referenced struct {
	references *References
	scope      scope
	cancel     context.CancelFunc

	progress progress
	synced   bool
	failure  string
	versions map[string]string
}

// failed notes why a list failed. What was known stays known through a network failure.
func (w *referenced) failed(f listFailure) {
	w.references.mu.Lock()
	defer w.references.mu.Unlock()
	if w.progress.fail(f); w.progress.known() {
		w.settle()
		return
	}
	changed := w.failure != f.message
	w.failure = f.message
	if changed {
		w.wakeAll()
	}
}

// watched notes that a watch is open.
func (w *referenced) watched() {
	w.references.mu.Lock()
	defer w.references.mu.Unlock()
	w.progress.watch = true
	w.settle()
}

// settle makes known what was listed as soon as it is watched, and says whether that was news, which all are told. The caller holds the
// lock.
func (w *referenced) settle() (news bool) {
	news = w.progress.known() && (!w.synced || w.failure != "")
	if news {
		w.synced, w.failure = true, ""
		w.wakeAll()
	}
	return news
}

func (w *referenced) wake(name string) {
	for _, o := range w.references.owners {
		for _, ref := range o.refs {
			if ref.Name == name && (scope{ref.Resource, ref.Namespace}) == w.scope {
				o.wake()
				break
			}
		}
	}
}

func (w *referenced) wakeAll() {
	for _, o := range w.references.owners {
		for _, ref := range o.refs {
			if (scope{ref.Resource, ref.Namespace}) == w.scope {
				o.wake()
				break
			}
		}
	}
}

// Add notes that an object is there.
func (w *referenced) Add(obj any) error { return w.Update(obj) }

// Update notes a new resource version and wakes those who use the object.
func (w *referenced) Update(obj any) error {
	return w.with(obj, func(m metav1.Object) { w.set(m.GetName(), m.GetResourceVersion()) })
}

// Delete notes that an object is gone and wakes those who use it.
func (w *referenced) Delete(obj any) error {
	return w.with(obj, func(m metav1.Object) { w.set(m.GetName(), "") })
}

func (w *referenced) with(obj any, do func(metav1.Object)) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	w.references.mu.Lock()
	defer w.references.mu.Unlock()
	do(m)
	return nil
}

func (w *referenced) set(name, version string) {
	if w.versions[name] == version {
		return
	}
	w.versions[name] = version
	if version == "" {
		delete(w.versions, name)
	}
	w.wake(name)
}

// Replace takes over a complete list.
func (w *referenced) Replace(list []any, _ string) error {
	w.references.mu.Lock()
	defer w.references.mu.Unlock()
	old := w.versions
	w.versions = make(map[string]string, len(list))
	for _, obj := range list {
		m, err := meta.Accessor(obj)
		if err != nil {
			return err
		}
		w.versions[m.GetName()] = m.GetResourceVersion()
	}
	w.progress.list = true
	if w.settle() || !w.progress.known() {
		return nil
	}
	for name := range old {
		if w.versions[name] != old[name] {
			w.wake(name)
		}
	}
	for name := range w.versions {
		if old[name] == "" {
			w.wake(name)
		}
	}
	return nil
}

// Resync does nothing: nothing is polled.
func (w *referenced) Resync() error { return nil }
