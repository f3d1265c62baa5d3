package records

import (
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// Memory is what a process remembers about the records of one component. The zero value is empty. It is safe for
// concurrent use, because the Collector adds to it while a pass may use it.
type Memory struct {
	mu    sync.Mutex
	owned Owned
	// ids are the records that this process wrote or read last.
	ids map[Kind]string
	// unnamed says for each kind why there may be records that the status does not name. Inventories are not in it.
	unnamed map[Kind]evidence
	// inventories are the Secrets of inventories that the status does not name, by name of the Secret.
	inventories map[string]metav1.PartialObjectMetadata
	// stale are Secrets of stale inventories.
	stale []metav1.PartialObjectMetadata
}

// evidence says why a component may have records of a kind that its status does not name.
type evidence int

const (
	noEvidence evidence = iota
	// notListed means that the status was lost, and Secrets could not be listed.
	notListed
	// seen means that this process wrote or saw an unnamed record.
	seen
)

// Owned are the Secrets with finalizers of a component. The deletion of the component removes these finalizers. If
// somebody removes our finalizer from the component, no pass does that, and the Secrets are released when the component
// is gone; see Store.Release.
type Owned struct {
	UID types.UID
	// Kubeconfig is the name of the Secret with the kubeconfig, empty if there is none.
	Kubeconfig string
	// Kinds are the kinds of records that the component may have.
	Kinds []Kind
}

// OwnedBy returns the Secrets that a status names.
func OwnedBy(uid types.UID, status *metav1alpha1.Status) Owned {
	owned := Owned{UID: uid, Kubeconfig: status.TargetSecret}
	if status.PhaseRecord != "" && status.PhaseRecord != PhasesUnknown {
		owned.Kinds = append(owned.Kinds, Phases)
	}
	if status.RenderedSet != "" {
		owned.Kinds = append(owned.Kinds, Rendering)
	}
	if status.InventoryRecord != nil {
		owned.Kinds = append(owned.Kinds, Inventory)
	}
	return owned
}

func (o Owned) empty() bool { return o.Kubeconfig == "" && len(o.Kinds) == 0 }

// SetOwned remembers the Secrets that a component owns at the end of a pass. The Secrets of a deleted component of the
// same name stay remembered until Store.Release has succeeded.
func (m *Memory) SetOwned(owned Owned) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.owned.empty() || m.owned.UID == owned.UID {
		m.owned = owned
	}
}

// LeftBy returns the Secrets that a deleted component of the same name left. uid is the UID of the component that
// exists now, and empty if there is none. ok is false if no Secrets were left.
func (m *Memory) LeftBy(uid types.UID) (left Owned, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.owned, !m.owned.empty() && m.owned.UID != uid
}

// released forgets the Secrets that a deleted component left.
func (m *Memory) released() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.owned = Owned{}
}

// ID returns the id of the record of a kind that this process wrote or read last, empty if there is none.
func (m *Memory) ID(kind Kind) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ids[kind]
}

// SetID remembers the id of the record of a kind that was written or read.
func (m *Memory) SetID(kind Kind, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ids == nil {
		m.ids = map[Kind]string{}
	}
	m.ids[kind] = id
}

// AddUnnamed remembers that records of a kind, phases or renderings, may exist that the status does not name.
func (m *Memory) AddUnnamed(kind Kind) { m.addEvidence(seen, kind) }

// AddUnlisted remembers that Secrets could not be listed, so that there may be records of phases and of renderings that
// the status does not name.
func (m *Memory) AddUnlisted() { m.addEvidence(notListed, Phases, Rendering) }

func (m *Memory) addEvidence(e evidence, kinds ...Kind) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.unnamed == nil {
		m.unnamed = map[Kind]evidence{}
	}
	for _, kind := range kinds {
		m.unnamed[kind] = max(e, m.unnamed[kind])
	}
}

func (m *Memory) evidenceOf(kind Kind) evidence {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.unnamed[kind]
}

func (m *Memory) dropEvidence(kind Kind) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.unnamed, kind)
}

// AddUnnamedSecret remembers a Secret of a record that the status does not name.
func (m *Memory) AddUnnamedSecret(secret *metav1.PartialObjectMetadata) {
	if kind := kindOf(secret.Name); kind != Inventory {
		m.AddUnnamed(kind)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.inventories == nil {
		m.inventories = map[string]metav1.PartialObjectMetadata{}
	}
	m.inventories[secret.Name] = *secret
}

// UnnamedInventories returns the Secrets of unnamed inventories.
func (m *Memory) UnnamedInventories() []metav1.PartialObjectMetadata {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Values(m.inventories))
}

// MarkStale decides about Secrets of inventories that the status does not name. The Secrets for which isStale returns
// true are stale from then on. The others are forgotten and stay, because another operator process may be about to name
// them in the status.
func (m *Memory) MarkStale(unnamed []metav1.PartialObjectMetadata, isStale func(metav1.Object) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, secret := range unnamed {
		if isStale(&secret) {
			m.stale = append(m.stale, secret)
		}
		delete(m.inventories, secret.Name)
	}
}

// SetStale replaces the Secrets of stale inventories.
func (m *Memory) SetStale(secrets []metav1.PartialObjectMetadata) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stale = secrets
}

func (m *Memory) staleSecrets() []metav1.PartialObjectMetadata {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.stale)
}
