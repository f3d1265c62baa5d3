package records

import (
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// State is the state that a process keeps in memory about the records of one component. The zero value is empty. It is
// safe for concurrent use, because the Collector adds to it while a pass may use it.
type State struct {
	mu    sync.Mutex
	owned Owned
	// ids has, for each kind, the id of the record that this process wrote or read last.
	ids map[Kind]string
	// unnamed has, for phases, renderings and externals, the reason why there may be records that the status does not
	// name.
	unnamed map[Kind]evidence
	// previousIDs are the ids of previous records that were not deleted yet.
	previousIDs map[Kind][]string
	// inventories are the Secrets of inventories that the status does not name, by name of the Secret.
	inventories map[string]metav1.PartialObjectMetadata
	// stale are Secrets of stale inventories. deleted are the UIDs of those that were deleted last.
	stale   []metav1.PartialObjectMetadata
	deleted []types.UID
}

// evidence is the reason why a component may have records of a kind that its status does not name.
type evidence int

const (
	noEvidence evidence = iota
	// notListed means that the status was lost, and Secrets could not be listed.
	notListed
	// seen means that this process wrote or saw an unnamed record.
	seen
)

// Owned describes the Secrets that have finalizers for a component. A pass that deletes the component removes these
// finalizers. If somebody removes the reconciler's finalizer from the component, the component disappears without such
// a pass, and Remover.Release removes the finalizers of the Secrets.
type Owned struct {
	UID types.UID
	// Kubeconfig is the name of the Secret with the kubeconfig, empty if there is none.
	Kubeconfig string
	// Credentials are the names of the Secrets with credentials of externals; see Finalizers.Hold.
	Credentials []string
	// Kinds are the kinds of records that the component may have.
	Kinds []Kind
	// IDs are the ids of the records that the status names.
	IDs map[Kind]string
}

// OwnedBy returns the Secrets that a status names.
func OwnedBy(uid types.UID, status *metav1alpha1.Status) Owned {
	owned := Owned{UID: uid, Kubeconfig: status.TargetSecret, IDs: map[Kind]string{}}
	if status.PhaseRecord != "" && status.PhaseRecord != PhasesUnknown {
		owned.Kinds, owned.IDs[Phases] = append(owned.Kinds, Phases), status.PhaseRecord
	}
	if status.RenderedSet != "" {
		owned.Kinds, owned.IDs[Rendering] = append(owned.Kinds, Rendering), Named(status.RenderedSet)
	}
	if status.InventoryRecord != nil {
		owned.Kinds, owned.IDs[Inventory] = append(owned.Kinds, Inventory), InventoryID(status)
	}
	return owned
}

// InventoryID returns the id of the inventory in Secrets that a status names, empty if there is none.
func InventoryID(status *metav1alpha1.Status) string {
	if !status.HasInventoryRecord() {
		return ""
	}
	return IDOf(status.InventoryRecord.Name + "-0")
}

func (o Owned) empty() bool {
	return o.Kubeconfig == "" && len(o.Credentials) == 0 && len(o.Kinds) == 0
}

// SetOwned stores which Secrets a component owns at the end of a pass. It does not replace the stored Secrets of a
// deleted component with the same name, before Remover.Release has succeeded for these Secrets.
func (m *State) SetOwned(owned Owned) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.owned.empty() || m.owned.UID == owned.UID {
		m.owned = owned
	}
}

// LeftBy returns the Secrets that a deleted component of the same name left. uid is the UID of the component that
// exists now, or empty if no component has the name. ok is false if no Secrets were left.
func (m *State) LeftBy(uid types.UID) (left Owned, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.owned, !m.owned.empty() && m.owned.UID != uid
}

// released removes the Secrets that a deleted component left from this state.
func (m *State) released() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.owned = Owned{}
}

// ID returns the id of the record of a kind that this process wrote or read last, empty if there is none. The value
// Lost means that the record which the status names does not exist.
func (m *State) ID(kind Kind) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ids[kind]
}

// SetID stores the id of the record of a kind that was written or read, or the value Lost.
func (m *State) SetID(kind Kind, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ids == nil {
		m.ids = map[Kind]string{}
	}
	m.ids[kind] = id
}

// AddUnnamed notes that records of a kind, phases or renderings, may exist that the status does not name.
func (m *State) AddUnnamed(kind Kind) { m.addEvidence(seen, kind) }

// AddPrevious notes that the record with an id exists, and that the status does not name it any more.
func (m *State) AddPrevious(kind Kind, id string) {
	m.AddUnnamed(kind)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.previousIDs == nil {
		m.previousIDs = map[Kind][]string{}
	}
	m.previousIDs[kind] = append(m.previousIDs[kind], id)
}

// previous returns the ids of previous records of a kind that were not deleted yet.
func (m *State) previous(kind Kind) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.previousIDs[kind])
}

// AddUnlisted notes that Secrets could not be listed, so that there may be records of phases and of renderings that the
// status does not name.
func (m *State) AddUnlisted() { m.addEvidence(notListed, Phases, Rendering) }

func (m *State) addEvidence(e evidence, kinds ...Kind) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.unnamed == nil {
		m.unnamed = map[Kind]evidence{}
	}
	for _, kind := range kinds {
		m.unnamed[kind] = max(e, m.unnamed[kind])
	}
}

// MayHaveExternals reports whether a Secret with states of externals was seen since the process started.
func (m *State) MayHaveExternals() bool { return m.evidenceOf(Externals) == seen }

func (m *State) evidenceOf(kind Kind) evidence {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.unnamed[kind]
}

func (m *State) dropEvidence(kind Kind) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.unnamed, kind)
	delete(m.previousIDs, kind)
}

// AddUnnamedSecret stores a Secret of a record that the status does not name. It ignores the inventories that this
// process is about to delete or deleted last, because the watch event that the caller saw may be older than the
// deletion.
func (m *State) AddUnnamedSecret(secret *metav1.PartialObjectMetadata) {
	if kind := kindOf(secret.Name); kind != Inventory {
		m.AddUnnamed(kind)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if slices.Contains(m.deleted, secret.UID) || slices.ContainsFunc(m.stale, sameUID(secret)) {
		return
	}
	if m.inventories == nil {
		m.inventories = map[string]metav1.PartialObjectMetadata{}
	}
	m.inventories[secret.Name] = *secret
}

// UnnamedInventories returns the Secrets of unnamed inventories.
func (m *State) UnnamedInventories() []metav1.PartialObjectMetadata {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Values(m.inventories))
}

// MarkStale checks Secrets of inventories that the status does not name. It marks a Secret as stale if isStale returns
// true. The other Secrets are removed from this state, but not deleted, because another operator process may be about
// to enter them into the status.
func (m *State) MarkStale(unnamed []metav1.PartialObjectMetadata, isStale func(metav1.Object) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, secret := range unnamed {
		if isStale(&secret) {
			m.stale = append(m.stale, secret)
		}
		delete(m.inventories, secret.Name)
	}
}

// AddStale adds Secrets of stale inventories. Those that were added before stay until they are deleted, because a list
// by labels need not have them any more.
func (m *State) AddStale(secrets []metav1.PartialObjectMetadata) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range secrets {
		m.stale = append(slices.DeleteFunc(slices.Clone(m.stale), sameUID(&secrets[i])), secrets[i])
		delete(m.inventories, secrets[i].Name)
	}
}

func (m *State) staleSecrets() []metav1.PartialObjectMetadata {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.stale)
}

// staleDeleted removes all Secrets of stale inventories from this state, because no further request for them is needed.
// deleted are those that were deleted.
func (m *State) staleDeleted(deleted []metav1.PartialObjectMetadata) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stale, m.deleted = nil, nil
	for i := range deleted {
		m.deleted = append(m.deleted, deleted[i].UID)
	}
}

func sameUID(secret *metav1.PartialObjectMetadata) func(metav1.PartialObjectMetadata) bool {
	return func(other metav1.PartialObjectMetadata) bool { return other.UID == secret.UID }
}
