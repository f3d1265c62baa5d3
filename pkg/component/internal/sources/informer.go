package sources

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
)

// informer watches the objects of a Related in one cluster. The lock of that Related guards the fields of informer.
type informer struct {
	related *Related
	convert converter
	reader  reader
	// run ends with the informer.
	run     context.Context
	stop    context.CancelFunc
	watch   informerWatch
	index   index
	objects map[client.ObjectKey]*object
	writes  writes
	// reads makes all callers that need the same version of an object wait for the same request.
	reads      singleflight.Group
	comparison comparison
}

// informerPart is the watch of an informer on one namespace, or on all. It is the store of its reflector.
type informerPart struct {
	informer         *informer
	namespace        string
	listed, watching bool
	failure          string
}

// startInformer starts the watches of a cluster. The caller holds the lock.
func (r *Related) startInformer(cluster Cluster, home bool) *informer {
	namespaces := r.options.Namespaces
	if len(namespaces) == 0 && home {
		namespaces = r.host.Namespaces
	}
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	ctx, stop := context.WithCancel(r.run)
	i := newInformer(ctx, r, cluster, namespaces)
	i.stop = func() {
		stop()
		if cluster.Close != nil {
			cluster.Close()
		}
	}
	if namespaces[0] == metav1.NamespaceAll {
		i.startParts()
	} else {
		go i.startPartsOf(namespaces)
	}
	return i
}

// startPartsOf starts the watches of namespaces. If the type is cluster-scoped, it starts one watch without a
// namespace.
func (i *informer) startPartsOf(namespaces []string) {
	isNamespaced, known := observe.AwaitScope(i.run, i.followOptions(i.watch.parts[0]))
	if !known {
		return
	}
	i.setScope(isNamespaced, namespaces)
	i.startParts()
}

// setScope stores whether the type is namespaced. Components whose objects are in other namespaces then have a failure.
func (i *informer) setScope(isNamespaced bool, namespaces []string) {
	i.related.mu.Lock()
	defer i.related.mu.Unlock()
	if !isNamespaced {
		i.watch.parts = i.watch.parts[:1]
		i.watch.parts[0].namespace = metav1.NamespaceAll
		return
	}
	i.watch.namespaces = namespaces
	for name := range i.index.users {
		if u := i.related.users[name]; u != nil && u.failure == "" {
			i.related.setFailure(u, i.checkNamespaces(u.of...))
		}
	}
}

// startParts starts the watches.
func (i *informer) startParts() {
	for _, part := range i.watch.parts {
		go observe.Follow(i.run, i.followOptions(part))
	}
}

func (i *informer) followOptions(part *informerPart) observe.FollowOptions {
	o, cluster := i.convert.options, i.reader.cluster
	return observe.FollowOptions{
		Name: "related " + o.GVK.Kind, GVK: o.GVK, Namespace: part.namespace, Selector: o.Selector, Fields: o.Fields,
		Reader: observe.Reader{Dynamic: cluster.Dynamic, Metadata: cluster.Metadata}, Mapper: cluster.Mapper,
		MetadataOnly: !o.Whole || o.MetadataOnly, Store: part, Opened: part.opened, Failed: part.failed,
	}
}

// checkNamespaces returns an error if one of the objects is in a namespace that is not watched. The caller holds the
// lock.
func (i *informer) checkNamespaces(keys ...client.ObjectKey) error {
	if i.watch.namespaces == nil {
		return nil
	}
	kind := i.convert.options.GVK.Kind
	for _, key := range keys {
		switch {
		case slices.Contains(i.watch.namespaces, key.Namespace):
		case key.Namespace == "":
			return fmt.Errorf("%s %s is named without its namespace", kind, key.Name)
		case len(i.convert.options.Namespaces) > 0:
			return fmt.Errorf("%s %s: namespace %q is not watched; add it to RelatedOptions.Namespaces",
				kind, key, key.Namespace)
		default:
			return fmt.Errorf("%s %s: namespace %q is not watched, because it is not in Options.Watching.Namespaces; "+
				"name the namespaces of these objects in RelatedOptions.Namespaces", kind, key, key.Namespace)
		}
	}
	return nil
}

// newInformer returns an informer without watches.
func newInformer(ctx context.Context, r *Related, cluster Cluster, namespaces []string) *informer {
	convert := converter{options: &r.options, run: ctx, clusterScoped: &r.clusterScoped}
	i := &informer{
		related: r, convert: convert, reader: reader{cluster, convert}, run: ctx,
		index:      index{all: r.options.All, users: names{}, byObject: relations{}, byComponent: relations{}},
		objects:    map[client.ObjectKey]*object{},
		writes:     writes{},
		comparison: comparison{convert: convert, requested: map[client.ObjectKey]bool{}},
	}
	for _, namespace := range namespaces {
		i.watch.parts = append(i.watch.parts, &informerPart{informer: i, namespace: namespace})
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
	if !i.watch.judge() {
		return
	}
	for name := range i.index.users {
		i.related.host.Wake(name)
	}
}

// Add implements cache.ReflectorStore.
func (p *informerPart) Add(obj any) error { return p.Update(obj) }

// Update stores an object.
func (p *informerPart) Update(obj any) error {
	incoming, err := p.informer.convert.reduce(obj)
	if err != nil {
		return err
	}
	p.informer.related.mu.Lock()
	defer p.informer.related.mu.Unlock()
	p.informer.observe(incoming)
	p.informer.related.host.tally.answer(time.Now())
	return nil
}

// Delete removes an object. If its last state cannot be read, no filter leaves the deletion out.
func (p *informerPart) Delete(obj any) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	last, _ := p.informer.convert.withoutDigest(obj)
	p.informer.related.mu.Lock()
	defer p.informer.related.mu.Unlock()
	key := client.ObjectKey{Namespace: m.GetNamespace(), Name: m.GetName()}
	stored := p.informer.objects[key]
	if stored == nil || inspect.Newer(stored.version(), m.GetResourceVersion()) && stored.meta.UID != m.GetUID() {
		return nil
	}
	p.informer.remove(key, last)
	p.informer.related.host.tally.answer(time.Now())
	return nil
}

// Replace stores a complete list.
func (p *informerPart) Replace(list []any, version string) error {
	i := p.informer
	listed := make(map[client.ObjectKey]*object, len(list))
	for _, obj := range list {
		incoming, err := i.convert.reduce(obj)
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
			i.remove(key, nil)
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

// observe stores an object of a list or a watch. If the body of the previous version is not in memory, this one is not
// wanted either. The caller holds the lock.
func (i *informer) observe(incoming *object) {
	stored := i.objects[client.ObjectKeyFromObject(incoming.meta)]
	switch {
	case stored == nil:
	case stored.body == nil:
		incoming.body = nil
		incoming.compared.bodyWasKept = stored.compared.isUnread && stored.compared.bodyWasKept
	default:
		incoming.touched, incoming.compared.bodyWasKept = stored.touched, true
	}
	i.put(incoming, types.NamespacedName{})
}

// put stores an object, and wakes the components whose value differs, except the component that wrote it. The caller
// holds the lock.
func (i *informer) put(incoming *object, writer types.NamespacedName) {
	key := client.ObjectKeyFromObject(incoming.meta)
	stored := i.objects[key]
	switch {
	case stored != nil && stored.version() == incoming.version():
		i.complete(key, stored, incoming, writer)
		return
	case stored != nil && inspect.Newer(stored.version(), incoming.version()):
		return
	}
	i.objects[key] = incoming
	var former []types.NamespacedName
	if stored != nil {
		former = stored.components
	}
	i.index.byComponent.replace(key, former, incoming.components)
	v := i.comparison.ofEvent(stored, incoming, i.index.isUsed(key, stored, incoming))
	i.follow(v, key, stored, incoming, writer)
}

// complete stores the body and the digest of the current version of an object. The caller holds the lock.
func (i *informer) complete(key client.ObjectKey, stored, read *object, writer types.NamespacedName) {
	if read.needsRead() {
		return // An event of a version that is known.
	}
	stored.digest, stored.partErr = read.digest, read.partErr
	v := i.comparison.ofRead(stored, read)
	// No component reads an equal version, so its body is kept only if the body before was.
	if v != verdictEqual || stored.compared.bodyWasKept {
		stored.body = read.body
	}
	if v != verdictEqual {
		stored.touched = read.touched
	}
	i.follow(v, key, nil, stored, writer)
}

// storeRead stores an object that was read. A version that the watch has not shown yet is stored like an event, so that
// it is not read again. The caller holds the lock.
func (i *informer) storeRead(key client.ObjectKey, read *object) {
	stored := i.objects[key]
	switch {
	case stored == nil: // It was deleted.
	case stored.version() == read.version() || !inspect.Newer(stored.version(), read.version()):
		i.put(read, types.NamespacedName{})
	default:
		i.follow(i.comparison.ofOlder(stored, read), key, nil, stored, types.NamespacedName{})
	}
}

// remove removes an object, and wakes its components. last is its state at the deletion; nil if it is not known. The
// caller holds the lock.
func (i *informer) remove(key client.ObjectKey, last *object) {
	stored := i.objects[key]
	delete(i.objects, key)
	i.index.byComponent.replace(key, stored.components, nil)
	if i.comparison.passes(i.related.options.Deleted, last) {
		i.wake(key, i.index.relatedTo(key, stored), nil, types.NamespacedName{})
	} else {
		i.related.host.tally.add(ResultFiltered, 1)
	}
}

// follow does what a comparison of two versions of an object decided. before may be nil. The caller holds the lock.
func (i *informer) follow(v verdict, key client.ObjectKey, before, after *object, writer types.NamespacedName) {
	switch v {
	case verdictKnown, verdictUnused:
	case verdictDiffers:
		i.wake(key, i.index.relatedTo(key, before, after), after, writer)
	case verdictEqual:
		i.related.host.tally.add(ResultEqual, 1)
		i.wake(key, changedRelations(before, after), after, writer)
	case verdictFiltered:
		i.related.host.tally.add(ResultFiltered, 1)
		i.wake(key, changedRelations(before, after), after, writer)
	case verdictFirst:
		i.wake(key, i.index.relatedTo(key, before, after), after, writer)
		i.readLater(key)
	case verdictUnread:
		for name := range i.index.relatedTo(key, before, after) {
			// The version may be that of a write whose response is not known yet.
			i.writes.hold(key, name, after.version())
		}
		i.wake(key, changedRelations(before, after), after, writer)
		i.readLater(key)
	}
}

// keysOf returns the existing objects of a component, sorted. of are the objects that the component names. The caller
// holds the lock.
func (i *informer) keysOf(name types.NamespacedName, of []client.ObjectKey) []client.ObjectKey {
	if i.index.all {
		return slices.SortedFunc(maps.Keys(i.objects), compareKeys)
	}
	keys := names{}
	maps.Copy(keys, i.index.byComponent[name])
	for _, key := range of {
		if i.objects[key] != nil {
			keys[key] = true
		}
	}
	return slices.SortedFunc(maps.Keys(keys), compareKeys)
}

// wake wakes components because of a version of an object, which is nil if the object was deleted. The caller holds the
// lock.
func (i *informer) wake(key client.ObjectKey, related names, version *object, writer types.NamespacedName) {
	for name := range related {
		switch {
		case !i.index.users[name] || !i.watch.synced || name == writer:
		case i.writes.hold(key, name, version.version()):
		default:
			i.related.host.Wake(name)
		}
	}
}
