package sources

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
)

// informer watches the objects of a Related in one cluster. The lock of the Related guards its fields.
type informer struct {
	related *Related
	cluster Cluster
	// run ends with the informer.
	run     context.Context
	stop    context.CancelFunc
	users   map[types.NamespacedName]bool
	objects map[client.ObjectKey]*object
	// byObject is the reverse of Of, and byComponent the reverse of For.
	byObject    map[client.ObjectKey]map[types.NamespacedName]bool
	byComponent map[types.NamespacedName]map[client.ObjectKey]bool
	writes      map[client.ObjectKey]*write
	// reads makes all callers that need the same version of an object wait for the same request.
	reads singleflight.Group
	// changed are the objects with a change that has to be compared, and comparers the goroutines that compare.
	changed   map[client.ObjectKey]bool
	comparers int

	parts []*informerPart
	// synced is set when all parts were listed and are watched. failure is the last error of a part.
	synced  bool
	failure string
	since   time.Time
}

// object is a related object.
type object struct {
	meta *metav1.PartialObjectMetadata
	// body is nil if it is not kept.
	body client.Object
	// digest identifies the part that counts; it is empty if the body was not read. compared is the digest of the last
	// version that was read; it is empty if no version was read.
	digest, compared string
	// unread is set if this version has to be read, to find out whether it differs. wanted is set if the body of the
	// version before was in memory.
	unread, wanted bool
	// components are the components that the object is for.
	components []types.NamespacedName
	touched    time.Time
}

func (o *object) version() string { return o.meta.ResourceVersion }

// informerPart is the watch of an informer on one namespace, or on all. It is the store of its reflector.
type informerPart struct {
	informer         *informer
	namespace        string
	listed, watching bool
	failure          string
}

// startInformer starts the watches of a cluster. The caller holds the lock.
func (r *Related) startInformer(cluster Cluster, home bool) *informer {
	namespaces := []string{metav1.NamespaceAll}
	if home && len(r.host.Namespaces) > 0 {
		namespaces = r.host.Namespaces
	}
	ctx, stop := context.WithCancel(r.run)
	i := newInformer(ctx, r, cluster, namespaces)
	i.stop = func() {
		stop()
		if cluster.Close != nil {
			cluster.Close()
		}
	}
	for _, part := range i.parts {
		go observe.Follow(ctx, observe.FollowOptions{
			Name: "related " + r.options.GVK.Kind, GVK: r.options.GVK, Namespace: part.namespace, Selector: r.options.Selector,
			Fields: r.options.Fields,
			Reader: observe.Reader{Dynamic: cluster.Dynamic, Metadata: cluster.Metadata}, Mapper: cluster.Mapper,
			MetadataOnly: !r.options.Whole || r.options.MetadataOnly, Store: part, Opened: part.opened, Failed: part.failed,
		})
	}
	return i
}

// newInformer returns an informer without watches.
func newInformer(ctx context.Context, r *Related, cluster Cluster, namespaces []string) *informer {
	i := &informer{
		related: r, cluster: cluster, run: ctx, users: map[types.NamespacedName]bool{},
		objects: map[client.ObjectKey]*object{}, byObject: map[client.ObjectKey]map[types.NamespacedName]bool{},
		byComponent: map[types.NamespacedName]map[client.ObjectKey]bool{}, writes: map[client.ObjectKey]*write{},
		changed: map[client.ObjectKey]bool{},
	}
	for _, namespace := range namespaces {
		i.parts = append(i.parts, &informerPart{informer: i, namespace: namespace})
	}
	return i
}

// opened notes that the watch is open.
func (p *informerPart) opened() {
	p.informer.related.mu.Lock()
	defer p.informer.related.mu.Unlock()
	p.watching = true
	p.informer.judge()
}

// failed notes that a list or a watch failed. After a network failure, listed objects remain known.
func (p *informerPart) failed(message string, definite bool) {
	p.informer.related.mu.Lock()
	defer p.informer.related.mu.Unlock()
	p.informer.related.host.tally.add(ResultFailed, 1)
	if definite || !p.listed {
		p.listed, p.watching, p.failure = p.listed && !definite, false, message
	}
	p.informer.judge()
}

// judge sets synced and failure, and wakes all components if that changed. The caller holds the lock.
func (i *informer) judge() {
	synced, failure := true, ""
	for _, p := range i.parts {
		if p.listed && p.watching {
			p.failure = ""
		}
		synced = synced && p.listed && p.watching
		if failure == "" {
			failure = p.failure
		}
	}
	news := synced && !i.synced || (failure == "") != (i.failure == "")
	switch {
	case failure == "":
		i.since = time.Time{}
	case i.failure == "":
		i.since = time.Now()
	}
	// Objects that were known stay known while the watch fails.
	i.synced, i.failure = i.synced || synced, failure
	if news {
		for name := range i.users {
			i.related.host.Wake(name)
		}
	}
}

// relate replaces the related objects of a component in the index. The caller holds the lock.
func (i *informer) relate(name types.NamespacedName, former, current []client.ObjectKey) {
	for _, key := range former {
		delete(i.byObject[key], name)
		if len(i.byObject[key]) == 0 {
			delete(i.byObject, key)
		}
	}
	for _, key := range current {
		if i.byObject[key] == nil {
			i.byObject[key] = map[types.NamespacedName]bool{}
		}
		i.byObject[key][name] = true
	}
}

// keysOf returns the existing objects of a component, sorted. The caller holds the lock.
func (i *informer) keysOf(name types.NamespacedName, of []client.ObjectKey) []client.ObjectKey {
	if i.related.options.All {
		return slices.SortedFunc(maps.Keys(i.objects), compareKeys)
	}
	set := maps.Clone(i.byComponent[name])
	if set == nil {
		set = map[client.ObjectKey]bool{}
	}
	for _, key := range of {
		if i.objects[key] != nil {
			set[key] = true
		}
	}
	return sortedKeys(set)
}

// Add implements cache.ReflectorStore.
func (p *informerPart) Add(obj any) error { return p.Update(obj) }

// Update stores an object.
func (p *informerPart) Update(obj any) error {
	incoming, err := p.informer.reduce(obj)
	if err != nil {
		return err
	}
	p.informer.related.mu.Lock()
	defer p.informer.related.mu.Unlock()
	p.informer.observe(incoming)
	p.informer.related.host.tally.answer(time.Now())
	return nil
}

// Delete removes an object.
func (p *informerPart) Delete(obj any) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	p.informer.related.mu.Lock()
	defer p.informer.related.mu.Unlock()
	key := client.ObjectKey{Namespace: m.GetNamespace(), Name: m.GetName()}
	stored := p.informer.objects[key]
	if stored == nil || inspect.Newer(stored.version(), m.GetResourceVersion()) && stored.meta.UID != m.GetUID() {
		return nil
	}
	p.informer.remove(key)
	p.informer.related.host.tally.answer(time.Now())
	return nil
}

// Replace stores a complete list.
func (p *informerPart) Replace(list []any, version string) error {
	i := p.informer
	listed := make(map[client.ObjectKey]*object, len(list))
	for _, obj := range list {
		incoming, err := i.reduce(obj)
		if err != nil {
			return err
		}
		listed[client.ObjectKeyFromObject(incoming.meta)] = incoming
	}
	i.related.mu.Lock()
	defer i.related.mu.Unlock()
	for key, stored := range i.objects {
		mine := p.namespace == metav1.NamespaceAll || key.Namespace == p.namespace
		if mine && listed[key] == nil && !inspect.Newer(stored.version(), version) {
			i.remove(key)
		}
	}
	for _, incoming := range listed {
		i.observe(incoming)
	}
	p.listed = true
	i.related.host.tally.answer(time.Now())
	i.judge()
	return nil
}

// Resync does nothing, because only events are handled.
func (p *informerPart) Resync() error { return nil }

// reduce returns the stored form of an object. It calls code of the author, so the lock must not be held.
func (i *informer) reduce(obj any) (*object, error) {
	o := &object{touched: time.Now()}
	if idle := i.related.options.Idle; idle > 0 {
		// Objects of one list are dropped one after the other, not all at once.
		o.touched = o.touched.Add(rand.N(idle))
	}
	var full client.Object
	switch obj := obj.(type) {
	case *metav1.PartialObjectMetadata:
		o.meta = metadataOf(i.related.options.GVK, obj)
		full = o.meta
		if i.related.options.MetadataOnly {
			o.digest, _ = i.digestOfBody(o.meta) // After an error, the components are woken, and get the error.
		}
	case *unstructured.Unstructured:
		body, err := i.typed(obj)
		if err != nil {
			return nil, err
		}
		o.meta, o.body, full = metadataOf(i.related.options.GVK, body), body, body
		if o.digest, err = i.digestOfBody(body); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("an object has the type %T", obj)
	}
	var err error
	o.components, err = i.componentsOf(full)
	return o, err
}

// componentsOf returns the components that an object names. Mappers return the namespace of the object, which
// cluster-scoped components do not have.
func (i *informer) componentsOf(obj client.Object) (names []types.NamespacedName, err error) {
	if i.related.options.For == nil {
		return nil, nil
	}
	err = contain(i.related.run, func(context.Context) error {
		names = slices.Clone(i.related.options.For(i.argument(obj)))
		return nil
	})
	if i.related.clusterScoped.Load() {
		for n := range names {
			names[n].Namespace = ""
		}
	}
	return names, err
}

// argument returns an object in the form that mappers and filters get. Without bodies, it is a typed object with
// metadata only.
func (i *informer) argument(obj client.Object) client.Object {
	m, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok || i.related.options.MetadataOnly {
		return obj
	}
	made := i.related.options.New()
	made.SetName(m.Name)
	made.SetNamespace(m.Namespace)
	made.SetUID(m.UID)
	made.SetResourceVersion(m.ResourceVersion)
	made.SetGeneration(m.Generation)
	made.SetCreationTimestamp(m.CreationTimestamp)
	made.SetDeletionTimestamp(m.DeletionTimestamp)
	made.SetLabels(m.Labels)
	made.SetAnnotations(m.Annotations)
	made.SetOwnerReferences(m.OwnerReferences)
	made.SetFinalizers(m.Finalizers)
	return made
}

// typed converts an object to the type of the relation, without managed fields.
func (i *informer) typed(u *unstructured.Unstructured) (client.Object, error) {
	u.SetManagedFields(nil)
	made := i.related.options.New()
	if target, ok := made.(*unstructured.Unstructured); ok {
		target.Object = u.Object
		return target, nil
	}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, made)
	return made, err
}

func (i *informer) digestOfBody(body client.Object) (string, error) {
	part, err := i.related.partOf(i.related.run, body)
	if err != nil {
		return "", err
	}
	return digestOf(part)
}

// observe stores an object of a list or a watch. If the body of the former version is not in memory, this one is not
// wanted either. The caller holds the lock.
func (i *informer) observe(incoming *object) {
	if stored := i.objects[client.ObjectKeyFromObject(incoming.meta)]; stored != nil {
		if stored.body == nil {
			incoming.body, incoming.wanted = nil, stored.unread && stored.wanted
		} else {
			incoming.touched, incoming.wanted = stored.touched, true
		}
	}
	i.put(incoming, types.NamespacedName{})
}

// put stores an object, and wakes the components whose value differs, except the component that wrote it. If this needs
// the body of the object, the object is read first. The caller holds the lock.
func (i *informer) put(incoming *object, writer types.NamespacedName) {
	key := client.ObjectKeyFromObject(incoming.meta)
	stored := i.objects[key]
	switch {
	case stored != nil && stored.version() == incoming.version():
		i.learn(key, stored, incoming, writer)
		return
	case stored != nil && inspect.Newer(stored.version(), incoming.version()):
		return
	}
	i.objects[key] = incoming
	former := []types.NamespacedName{}
	if stored != nil {
		former = stored.components
	}
	i.index(key, former, incoming.components)
	i.compare(key, stored, incoming, writer)
}

// index replaces the components of an object in the index. The caller holds the lock.
func (i *informer) index(key client.ObjectKey, former, current []types.NamespacedName) {
	for _, name := range former {
		delete(i.byComponent[name], key)
		if len(i.byComponent[name]) == 0 {
			delete(i.byComponent, name)
		}
	}
	for _, name := range current {
		if i.byComponent[name] == nil {
			i.byComponent[name] = map[client.ObjectKey]bool{}
		}
		i.byComponent[name][key] = true
	}
}

// remove removes an object, and wakes its components. The caller holds the lock.
func (i *informer) remove(key client.ObjectKey) {
	stored := i.objects[key]
	delete(i.objects, key)
	i.index(key, stored.components, nil)
	if i.passes(i.related.options.Deleted, stored) {
		i.wake(key, i.relatedTo(key, stored), nil, types.NamespacedName{})
	} else {
		i.related.host.tally.add(ResultEqual, 1)
	}
}

// relatedTo returns the components that are related to an object in one of the given versions. The caller holds the
// lock.
func (i *informer) relatedTo(key client.ObjectKey, versions ...*object) map[types.NamespacedName]bool {
	names := map[types.NamespacedName]bool{}
	maps.Copy(names, i.byObject[key])
	if i.related.options.All {
		maps.Copy(names, i.users)
	}
	for _, o := range versions {
		addAll(names, o.components)
	}
	return names
}

// wake wakes components because of a version of an object, which is nil if the object was deleted. The caller holds the
// lock.
func (i *informer) wake(
	key client.ObjectKey, names map[types.NamespacedName]bool, version *object, writer types.NamespacedName,
) {
	w := i.writes[key]
	for name := range names {
		switch {
		case !i.users[name] || !i.synced || name == writer:
		case w != nil && w.by[name] > 0:
			w.hold(name, version)
		default:
			i.related.host.Wake(name)
		}
	}
}

func addAll(set map[types.NamespacedName]bool, names []types.NamespacedName) {
	for _, name := range names {
		set[name] = true
	}
}
