package reconcile

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/causes"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/input"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inventory"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/schedule"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
)

// Memory is everything that the process remembers of one component. A restart loses it, so no decision may depend on it
// alone: everything that must survive is recorded in the cluster. Object and Inventory have locks of their own, because
// watch handlers use them beside the pass. Only the pass uses the other fields, and a component has one pass at a time.
type Memory struct {
	Object    components.Memory
	Inventory inventory.Memory

	// Schedule is the last pass and the back-off; Contents are the known contents of references.
	Schedule schedule.State
	Contents input.Contents
	// values are those of the inputs that were rendered last, and formerValues those of the inputs before. The former
	// ones are needed until a status with the new revision is written.
	values, formerValues revisionValues
	// causes are those of the dependents that are not ready.
	causes causes.Memory
	// prepared is the UID of the component whose PreDelete hook has succeeded.
	prepared types.UID
	// unconfirmed are the dependents that this process created after its last write of the component's status.
	unconfirmed unconfirmed
}

// unconfirmed are dependents for which a create was sent after the last write of the component's status, and the client
// that sent the create. Another operator of the same name may have removed them from the recorded inventory in between.
// The next successful write of the status shows that this did not happen, and the entries are dropped.
type unconfirmed struct {
	client  *target.Client
	entries plan.Inventory
}

// revisionValues are the values of inputs, which a digest identifies.
type revisionValues struct {
	digest string
	values input.Values
}

// remember keeps the values of the inputs of a revision. before is the status at the begin of the pass.
func (m *Memory) remember(before *metav1alpha1.Status, in input.Inputs) {
	if m.values.digest != in.Digest {
		m.formerValues, m.values = m.values, revisionValues{in.Digest, in.Values()}
	}
	if in.StandIn(before) {
		m.formerValues = revisionValues{}
	}
}

// changesSince returns the values of inputs that differ from those of the revision in a status. It returns nil if the
// process does not know the values of that revision, because it was started later.
func (m *Memory) changesSince(s *metav1alpha1.Status, in input.Inputs) []string {
	for _, known := range []revisionValues{m.values, m.formerValues} {
		if known.digest != "" && known.digest == s.InputDigest {
			return known.values.ChangesTo(in.Values())
		}
	}
	return nil
}

// addCreated adds the dependents that a pass created to the unconfirmed ones.
func (m *Memory) addCreated(client *target.Client, o outcome.Outcome) {
	if len(o.Created) == 0 {
		return
	}
	entries := maps.Clone(m.unconfirmed.entries)
	if entries == nil {
		entries = plan.Inventory{}
	}
	maps.Copy(entries, o.Created)
	m.unconfirmed = unconfirmed{client, entries}
}

// confirm forgets the created dependents, because a status was written after their creation.
func (m *Memory) confirm() { m.unconfirmed = unconfirmed{} }

// Memories are the memories of all components, by name. The zero value is ready to use, concurrently.
type Memories struct {
	mu     sync.Mutex
	byName map[types.NamespacedName]*Memory
}

// Of returns the memory of a component. It creates the memory if there is none.
func (m *Memories) Of(name types.NamespacedName) *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, found := m.byName[name]; found {
		return known
	}
	if m.byName == nil {
		m.byName = map[types.NamespacedName]*Memory{}
	}
	created := &Memory{}
	m.byName[name] = created
	return created
}

// Known returns the memory of a component, nil if there is none.
func (m *Memories) Known(name types.NamespacedName) *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.byName[name]
}

// Forget drops the memory of a component.
func (m *Memories) Forget(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.byName, name)
}

// StatusWritten notes that a status was written. From then on the inventory that the status names is the current one.
func (m *Memories) StatusWritten(name types.NamespacedName, written *metav1alpha1.Status) {
	m.Of(name).Inventory.StatusWritten(written)
}

// Objects gives package components access to its part of each memory.
func (m *Memories) Objects() components.Memories { return objectMemories{m} }

// Inventories gives package inventory access to its part of each memory.
func (m *Memories) Inventories() inventory.Memories { return inventoryMemories{m} }

// inventoryMemories implements inventory.Memories.
type inventoryMemories struct{ memories *Memories }

// Of implements inventory.Memories.
func (m inventoryMemories) Of(name types.NamespacedName) *inventory.Memory {
	return &m.memories.Of(name).Inventory
}

// Known implements inventory.Memories.
func (m inventoryMemories) Known(name types.NamespacedName) *inventory.Memory {
	if known := m.memories.Known(name); known != nil {
		return &known.Inventory
	}
	return nil
}

// objectMemories implements components.Memories.
type objectMemories struct{ memories *Memories }

// Of implements components.Memories.
func (m objectMemories) Of(name types.NamespacedName) *components.Memory {
	return &m.memories.Of(name).Object
}

// Known implements components.Memories.
func (m objectMemories) Known(name types.NamespacedName) *components.Memory {
	if known := m.memories.Known(name); known != nil {
		return &known.Object
	}
	return nil
}
