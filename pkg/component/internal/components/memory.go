package components

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
)

// Memories finds the memory of each component of a process. It is safe for concurrent use.
type Memories interface {
	// Of returns the memory of a component. It creates the memory if there is none.
	Of(name types.NamespacedName) *Memory
	// Known returns the memory of a component, and nil if there is none.
	Known(name types.NamespacedName) *Memory
}

// Memory is the state that this package keeps of one component. The zero value is ready for use. It has a lock because
// watch handlers and authors' calls of UpdateStatus use it concurrently with the pass.
type Memory struct {
	mu sync.Mutex
	// written is the last write to the component. It is read-only. It is dropped when the cache has that version or a
	// newer one, to save memory: its status may have an inventory of thousands of lines.
	written Object
	// pass is the in-flight pass.
	pass *Pass
	// interruptions counts the passes that were interrupted in a row.
	interruptions int
	// assumedCluster is the cluster id that the component's status names, as long as the API server has not confirmed
	// it. It is empty if no unconfirmed id is used.
	assumedCluster string
}

// lastWrite returns the last write to the component, and nil if none is kept. It is read-only. m may be nil.
func (m *Memory) lastWrite() Object {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.written
}

// keepWrite keeps a write to the component unless a newer one is kept: an author's write and a write of the pass may
// overtake each other.
func (m *Memory) keepWrite(written Object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.written
	if last != nil && last.GetUID() == written.GetUID() &&
		!inspect.Newer(written.GetResourceVersion(), last.GetResourceVersion()) {
		return
	}
	m.written = written
}

// dropWrite drops the last write if the cache has caught up with it. An in-flight pass compares its status with the
// last write, so the write is kept until the pass ends.
func (m *Memory) dropWrite(cached client.Object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.written != nil && m.pass == nil && hasCaughtUp(cached, m.written) {
		m.written = nil
	}
}

// hasCaughtUp reports whether the cached object is the written version, a newer version, or another object of the same
// name. Then the written version is not needed any more.
func hasCaughtUp(cached, written client.Object) bool {
	return written.GetUID() != cached.GetUID() ||
		!inspect.Newer(written.GetResourceVersion(), cached.GetResourceVersion())
}

// assumeCluster keeps the cluster id that a pass works with as an assumption, unless confirmed is the same id. If an
// earlier pass assumed another id, it returns that id and keeps no assumption.
func (m *Memory) assumeCluster(cluster, confirmed string) (former string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	assumed := m.assumedCluster
	m.assumedCluster = ""
	if assumed != "" && assumed != cluster {
		return assumed
	}
	if cluster != confirmed {
		m.assumedCluster = cluster
	}
	return ""
}

// clusterAssumption returns the assumed cluster id, and an empty string if the process assumes no id. m may be nil.
func (m *Memory) clusterAssumption() string {
	if m == nil {
		return ""
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.assumedCluster
}
