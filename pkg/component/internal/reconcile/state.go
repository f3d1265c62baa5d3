package reconcile

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/causes"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/input"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inventory"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/rendering"
	"github.com/fairlead-io/fairlead/pkg/component/internal/schedule"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
)

// State is the state of one component that the process keeps in memory. State is lost at a restart, so all facts that
// must survive a restart are stored in the cluster. Object and Inventory have their own locks, because watch handlers
// use these fields while a pass is running. The other fields need no lock: only passes use them, and a component never
// has two passes at the same time.
type State struct {
	Object    components.State
	Inventory inventory.State

	// Schedule holds the time of the last pass and the back-off. Contents are the digests of referenced objects that
	// the last pass read.
	Schedule schedule.State
	Contents input.Contents
	// values are those of the inputs that were rendered last, and previousValues those of the inputs before. The
	// previous values are needed until a status with the new revision is written.
	values, previousValues revisionValues
	// externalContents are the contents of the references of externals that the last pass read.
	externalContents input.ExternalContents
	// renewals counts the renderings of the current inputs because of exports.
	renewals renewals
	// permitted is the permission in the last valid spec.
	permitted permission
	// bursts are the revisions that changed inputs caused.
	bursts bursts
	// settling are the new inputs that are not applied yet.
	settling settling
	// watchesNamespace is set while a deletion waits for other components, and watches the component's own namespace.
	watchesNamespace bool
	// causes are those of the dependents that are not ready.
	causes causes.State
	// conditions are the parameters of the conditions, if a function of the author makes them.
	conditions conditionParameters
	// kills are the renderings of the current inputs that were killed.
	kills rendering.Kills
	// toldDependents are the Events about dependents.
	toldDependents status.ToldDependents
	// unreported is what is kept of passes that ended without a report.
	unreported unreported
	// prepared is the UID of the component whose PreDelete hook has succeeded.
	prepared types.UID
	// toldOrphaning is the UID of the component for which an Event said that the propagation policy Orphan has no
	// effect.
	toldOrphaning types.UID
	// unconfirmed are the dependents that this process created after its last write of the component's status.
	unconfirmed unconfirmed
	// released is the UID of the component whose finalizer this process removed, until the cache no longer contains the
	// component. A pass over such a component would begin with an old version of it.
	released types.UID
}

// unconfirmed are dependents for which a create was sent after the last write of the component's status, and the client
// that sent the create. In the meantime, another operator of the same name may have removed these dependents from the
// recorded inventory. The next successful write of the status proves that this has not happened; the process then drops
// the entries.
type unconfirmed struct {
	client  *target.Client
	entries plan.Inventory
}

// revisionValues are the values of inputs, which a digest identifies.
type revisionValues struct {
	digest string
	values input.Values
}

// knows reports whether the values of the inputs with a digest are known.
func (m *State) knows(digest string) bool { return m.values.digest == digest }

// remember keeps the values of the inputs of a revision. before is the status at the start of the pass.
func (m *State) remember(before *metav1alpha1.Status, in input.Inputs) {
	if m.values.digest != in.Digest {
		m.previousValues, m.values = m.values, revisionValues{in.Digest, in.Values()}
	}
	if in.AreRecorded(before) {
		m.previousValues = revisionValues{}
	}
}

// changesUnknown stands for the changes of inputs whose previous values this process does not know. Values are not
// stored, because they may come from Secrets.
const changesUnknown = "values not compared: the operator was restarted since the revision before"

// changesSince returns the values of inputs that differ from those of the revision in a status. It returns
// changesUnknown if the process does not know the values of that revision, because it was started later.
func (m *State) changesSince(s *metav1alpha1.Status, in input.Inputs) []string {
	for _, known := range []revisionValues{m.values, m.previousValues} {
		if known.digest != "" && known.digest == s.InputDigest {
			return known.values.ChangesTo(in.Values())
		}
	}
	if s.InputDigest == "" || s.InputDigest == in.Digest {
		return nil
	}
	return []string{changesUnknown}
}

// isReleased reports whether this process removed the finalizer of a component.
func (m *State) isReleased(obj components.Object) bool {
	return m.released != "" && m.released == obj.GetUID()
}

// addCreated adds the dependents that a pass created to the unconfirmed dependents.
func (m *State) addCreated(client *target.Client, o outcome.Outcome) {
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
func (m *State) confirm() { m.unconfirmed = unconfirmed{} }

// States are the states of all components, by name. The zero value is ready to use, and safe for concurrent use.
type States struct {
	mu     sync.Mutex
	byName map[types.NamespacedName]*State
}

// Of returns the state of a component. If the component has no state yet, Of creates it.
func (m *States) Of(name types.NamespacedName) *State {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, found := m.byName[name]; found {
		return known
	}
	if m.byName == nil {
		m.byName = map[types.NamespacedName]*State{}
	}
	created := &State{}
	m.byName[name] = created
	return created
}

// Known returns the state of a component, or nil if the component has no state.
func (m *States) Known(name types.NamespacedName) *State {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.byName[name]
}

// DropIdleInventories frees the memory of inventories that are also in Secrets, and were not used for the idle time.
// The Secrets stay.
func (m *States) DropIdleInventories(idle time.Duration, now time.Time) {
	m.mu.Lock()
	all := slices.Collect(maps.Values(m.byName))
	m.mu.Unlock()
	for _, state := range all {
		state.Inventory.DropIdle(idle, now)
	}
}

// Forget drops the state of a component.
func (m *States) Forget(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.byName, name)
}

// StatusWritten is called after the status of a component was written. From then on the inventory that this status
// names is the current inventory.
func (m *States) StatusWritten(name types.NamespacedName, written *metav1alpha1.Status) {
	m.Of(name).Inventory.StatusWritten(written)
}

// Objects gives package components access to its part of each state.
func (m *States) Objects() components.States { return objectStates{m} }

// Inventories gives package inventory access to its part of each state.
func (m *States) Inventories() inventory.States { return inventoryStates{m} }

// inventoryStates implements inventory.States.
type inventoryStates struct{ states *States }

// Of implements inventory.States.
func (m inventoryStates) Of(name types.NamespacedName) *inventory.State {
	return &m.states.Of(name).Inventory
}

// Known implements inventory.States.
func (m inventoryStates) Known(name types.NamespacedName) *inventory.State {
	if known := m.states.Known(name); known != nil {
		return &known.Inventory
	}
	return nil
}

// objectStates implements components.States.
type objectStates struct{ states *States }

// Of implements components.States.
func (m objectStates) Of(name types.NamespacedName) *components.State {
	return &m.states.Of(name).Object
}

// Known implements components.States.
func (m objectStates) Known(name types.NamespacedName) *components.State {
	if known := m.states.Known(name); known != nil {
		return &known.Object
	}
	return nil
}
