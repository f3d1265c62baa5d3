package related

import (
	"context"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
)

// informer watches the related objects in one cluster. Its context, which ends with it, is that of its converter.
type informer struct {
	port    *eventsources.Port
	convert converter
	reader  reader
	// atHome is set if the cluster is that of the components.
	atHome  bool
	stop    context.CancelFunc
	watch   watch
	objects store
	// reads makes all callers that need the same version of an object wait for the same request.
	reads singleflight.Group
}

// newInformer returns an informer whose watches are not started.
func newInformer(
	convert converter, port *eventsources.Port, cluster eventsources.Cluster, namespaces []string,
) *informer {
	i := &informer{
		port: port, convert: convert, reader: reader{cluster, convert}, objects: newStore(convert),
		watch: watch{options: convert.options},
	}
	for _, namespace := range namespaces {
		i.watch.parts = append(i.watch.parts, &informerPart{informer: i, namespace: namespace})
	}
	return i
}

// startParts starts the watches.
func (i *informer) startParts() {
	for _, part := range i.watch.parts {
		go observe.Follow(i.convert.run, i.followOptions(part))
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

// perform performs the effects of a change of an object.
func (i *informer) perform(e effects) {
	i.port.Count(eventsources.ResultEqual, e.equal)
	i.port.Count(eventsources.ResultFiltered, e.filtered)
	i.port.Count(eventsources.ResultFailed, e.failed)
	for _, name := range e.wake {
		i.port.Wake(name)
	}
	for range e.readers {
		go i.readRequested()
	}
}

// changedState wakes all components after a change of the state of the watches.
func (i *informer) changedState() {
	for _, name := range i.objects.usersAt(i.watch.synced()) {
		i.port.Wake(name)
	}
}

// informerPart is the watch of an informer on one namespace, or on all. It is the store of its reflector.
type informerPart struct {
	informer  *informer
	namespace string
	state     partState
}

// opened notes that the watch is open.
func (p *informerPart) opened() {
	if p.informer.watch.opened(p) {
		p.informer.changedState()
	}
}

// failed notes that a list or a watch failed.
func (p *informerPart) failed(message string, definite bool) {
	p.informer.port.Count(eventsources.ResultFailed, 1)
	if p.informer.watch.failed(p, message, definite) {
		p.informer.changedState()
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
	p.informer.perform(p.informer.objects.update(incoming))
	p.informer.port.Answered(time.Now())
	return nil
}

// Delete removes an object. If its last state cannot be read, no filter leaves the deletion out.
func (p *informerPart) Delete(obj any) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	last, _ := p.informer.convert.withoutDigest(obj)
	e, removed := p.informer.objects.remove(m, last)
	if removed {
		p.informer.perform(e)
		p.informer.port.Answered(time.Now())
	}
	return nil
}

// Replace stores a complete list.
func (p *informerPart) Replace(list []any, version string) error {
	listed := make(map[client.ObjectKey]*object, len(list))
	for _, obj := range list {
		incoming, err := p.informer.convert.reduce(obj)
		if err != nil {
			return err
		}
		listed[client.ObjectKeyFromObject(incoming.meta)] = incoming
	}
	includes := func(key client.ObjectKey) bool {
		return p.namespace == metav1.NamespaceAll || key.Namespace == p.namespace
	}
	p.informer.perform(p.informer.objects.replace(includes, listed, version))
	p.informer.port.Answered(time.Now())
	if p.informer.watch.listed(p) {
		p.informer.changedState()
	}
	return nil
}

// Resync does nothing, because only watch events are handled.
func (p *informerPart) Resync() error { return nil }
