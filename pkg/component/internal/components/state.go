package components

import (
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
)

// States returns the State of each component of a process. It is safe for concurrent use.
type States interface {
	// Of returns the state of a component. It creates the state if there is none.
	Of(name types.NamespacedName) *State
	// Known returns the state of a component, or nil if there is none.
	Known(name types.NamespacedName) *State
}

// State is the state that this package stores for one component. The zero value is ready for use. It has a lock,
// because watch handlers and authors' calls of UpdateStatus use it concurrently with the pass.
type State struct {
	mu sync.Mutex
	// written is the component as this process wrote it last. It is read-only. It is dropped when the cache contains the
	// same version or a newer version. This saves memory, because the status may have an inventory of thousands of lines.
	written Object
	// record is the record of the dependents that this process knows.
	record knownRecord
	// updates are the writes of the author whose watch events have not arrived.
	updates updates
	// pass is the in-flight pass.
	pass *InFlight
	// interruptions is the number of consecutive passes that were interrupted.
	interruptions int
	// assumedCluster is the cluster id that the component's status names, as long as the API server has not confirmed
	// it. It is empty if no unconfirmed id is used.
	assumedCluster string
	// orphaning is the UID of the component whose deletion a client requested with the propagation policy Orphan.
	orphaning types.UID
}

// IsOrphaning reports whether a client requested the deletion of a component with the propagation policy Orphan, as
// kubectl delete --cascade=orphan does. The API server then adds a finalizer, which the garbage collection of
// Kubernetes soon removes, so a version of the component that a watch delivered may have shown it, and later versions
// do not.
func (m *State) IsOrphaning(component client.Object) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.noteOrphaning(component)
	return m.orphaning == component.GetUID()
}

// noteOrphaning stores the UID of a component with the finalizer of the propagation policy Orphan. The caller holds the
// lock.
func (m *State) noteOrphaning(component client.Object) {
	if component.GetDeletionTimestamp() != nil &&
		slices.Contains(component.GetFinalizers(), metav1.FinalizerOrphanDependents) {
		m.orphaning = component.GetUID()
	}
}

// lastWrite returns the component as this process wrote it last, or nil if it is not stored. The result is read-only. m
// may be nil.
func (m *State) lastWrite() Object {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.written
}

// keepWrite stores a written component, unless a newer version is stored already: a write of the author and a
// concurrent write of the pass may call keepWrite in any order.
func (m *State) keepWrite(written Object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.written
	if last != nil && last.GetUID() == written.GetUID() &&
		!inspect.Newer(written.GetResourceVersion(), last.GetResourceVersion()) {
		return
	}
	m.written = written
}

// dropWrite removes the last written component if the cache has caught up with it. An in-flight pass compares its
// status with the written component, so this component is kept until the pass ends.
func (m *State) dropWrite(cached client.Object) {
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

// assumeCluster stores the cluster id of a pass as an assumption, unless it equals the confirmed id. If an earlier pass
// assumed another id, assumeCluster returns the other id and stores no assumption.
func (m *State) assumeCluster(cluster, confirmed string) (previous string) {
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

// clusterAssumption returns the assumed cluster id, or an empty string if no id is assumed. m may be nil.
func (m *State) clusterAssumption() string {
	if m == nil {
		return ""
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.assumedCluster
}
