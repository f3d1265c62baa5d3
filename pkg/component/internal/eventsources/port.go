package eventsources

import (
	"context"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Host is the reconciler of a Set.
type Host struct {
	// Wake starts a pass over a component. It does not block.
	Wake func(types.NamespacedName)
	// Load returns a component from the cache.
	Load func(context.Context, types.NamespacedName) (client.Object, error)
	// List returns all components in the cache.
	List func(context.Context) ([]client.Object, error)
	// Home is the cluster of the components. Namespaces are the namespaces that are watched there; empty means all.
	Home       Cluster
	Namespaces []string
	// Counter counts the results of event sources. It may be nil.
	Counter Counter
}

// Port is the way of one event source to its Host. It counts what the event source does.
type Port struct {
	host Host
	kind Kind
	name string
	// answered is the time of the last answer, in nanoseconds since 1970.
	answered *atomic.Int64
}

// Port returns the Port of one event source, which stores the time of the last answer in answered.
func (h Host) Port(kind Kind, name string, answered *atomic.Int64) *Port {
	return &Port{host: h, kind: kind, name: name, answered: answered}
}

// Wake starts a pass over a component. It does not block.
func (p *Port) Wake(name types.NamespacedName) {
	p.Count(ResultWoke, 1)
	p.host.Wake(name)
}

// Load returns a component from the cache.
func (p *Port) Load(ctx context.Context, name types.NamespacedName) (client.Object, error) {
	return p.host.Load(ctx, name)
}

// Home returns the cluster of the components.
func (p *Port) Home() Cluster { return p.host.Home }

// Namespaces returns the namespaces that are watched in the cluster of the components; none means all.
func (p *Port) Namespaces() []string { return p.host.Namespaces }

// Count counts results of the event source.
func (p *Port) Count(result Result, n int) {
	if p.host.Counter != nil && n > 0 {
		p.host.Counter(p.kind, p.name, result, n)
	}
}

// Answered notes the time of an answer.
func (p *Port) Answered(at time.Time) { p.answered.Store(at.UnixNano()) }
