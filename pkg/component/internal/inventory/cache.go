package inventory

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/backoff"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// States returns the State of each component of a process. It is safe for concurrent use.
type States interface {
	// Of returns the state of a component. It creates the state if there is none.
	Of(name types.NamespacedName) *State
	// Known returns the state of a component, or nil if there is none.
	Known(name types.NamespacedName) *State
}

// State is the state that a process keeps in memory about the records of one component: the inventory cache, because
// of which Secrets are read only once after a start and after DropIdle, and the State of package records. The zero
// value is empty. A State has a lock, because watch handlers use the State concurrently with the pass.
type State struct {
	Records records.State

	mu sync.Mutex
	// current is the inventory that the stored status names. next is the inventory that the next write of the status
	// will name.
	current *cached
	next    *pending
	// used is the time of the last use of the lines of current. They are dropped after the time kept; zero if DropIdle
	// has not chosen it yet.
	used time.Time
	kept time.Duration
	// recovered is the time of the last recovery of the inventory. searches is the number of searches in the interval
	// that began at searched, whose results could not be written.
	recovered, searched time.Time
	searches            int
	// unsearched names the types and namespaces in which the recovery of the inventory could not search for dependents.
	// It is set only for a component that is being deleted.
	unsearched string
}

// cached is an inventory that is not in the status, but in Secrets or only in memory. Its content is read-only.
type cached struct {
	// secrets identifies the Secrets that contain the lines. Its name is empty if the lines could not be written and are
	// kept in memory only; see fallback.go.
	secrets metav1alpha1.InventoryRecord
	// id is the id of the record.
	id, digest string
	lines      []string
	// dropped is set if the lines are not in memory any more, so that the Secrets have to be read.
	dropped bool
}

// pending is an inventory that the next write of the status will name. It has no Secrets if its lines are in the status
// itself.
type pending struct {
	cached
	// parts is the data of the Secrets.
	parts [][]byte
	// previous are the Secrets of other inventories. They are stale as soon as the status that names this inventory is
	// written.
	previous []metav1.PartialObjectMetadata
}

// lookup returns the inventory that a status names, or nil if this state does not have the inventory.
func (m *State) lookup(st *metav1alpha1.Status) *cached {
	if m == nil || !st.HasInventoryRecord() {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.current != nil && m.current.isNamedBy(st) {
		return m.current
	}
	if m.next != nil && m.next.isNamedBy(st) {
		return &m.next.cached
	}
	return nil
}

// recorded returns the lines of the inventory that a status names. It returns false if this state does not have them.
func (m *State) recorded(st *metav1alpha1.Status) (lines []string, known bool) {
	found := m.lookup(st)
	if found == nil || found.dropped {
		return nil, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used = time.Now()
	return found.lines, true
}

// DropIdle drops lines that are also in Secrets and were not used for one to two idle times, which is random, so that
// the lines of many components are not dropped together. It keeps the name and the digest of the inventory.
func (m *State) DropIdle(idle time.Duration, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.current == nil || m.current.secrets.Name == "" || m.current.dropped {
		return
	}
	if m.kept == 0 {
		m.kept = idle + backoff.Within(idle)
	}
	if now.Sub(m.used) < m.kept {
		return
	}
	without := *m.current
	without.lines, without.dropped = nil, true
	m.current = &without
}

func (c *cached) isNamedBy(st *metav1alpha1.Status) bool {
	return c.secrets == *st.InventoryRecord && c.digest == st.InventoryDigest
}

// nextOf returns the pending inventory if a status that is not written yet names it, and nil otherwise.
func (m *State) nextOf(st *metav1alpha1.Status) *pending {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.next == nil || !m.next.isNamedBy(st) {
		return nil
	}
	next := *m.next
	return &next
}

func (m *State) setCurrent(c cached) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keep(c)
}

// keep keeps an inventory as the current one. The caller holds the lock.
func (m *State) keep(c cached) {
	m.current, m.used, m.kept = &c, time.Now(), 0
}

func (m *State) setNext(p pending) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next = &p
}

// StatusWritten must be called after a status was written. The inventory that the status names becomes the current
// inventory, and the Secrets of the previous inventory are marked as stale.
func (m *State) StatusWritten(st *metav1alpha1.Status) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.next == nil || m.next.secrets != components.RefOf(st).Secrets() {
		return
	}
	if len(m.next.previous) > 0 {
		m.Records.AddStale(m.next.previous)
	}
	m.current = nil
	if st.HasInventoryRecord() {
		m.keep(m.next.cached)
	}
	m.next = nil
}

// NamesOther reports whether a status names other Secrets than those that this process wrote or read, which means that
// another process wrote the status. It returns false if this process has not read or written any Secret of the
// component. m may be nil.
func (m *State) NamesOther(st *metav1alpha1.Status) bool {
	if m == nil || !st.HasInventoryRecord() || m.lookup(st) != nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.current != nil || m.next != nil
}

// fallback returns the lines of an inventory that is kept in memory only, because it could not be written. It returns
// nil if the digest in the status belongs to another inventory.
func (m *State) fallback(st *metav1alpha1.Status) []string {
	if st.HasInventoryRecord() || len(st.Inventory) > 0 {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.current == nil || m.current.secrets.Name != "" || m.current.digest != st.InventoryDigest {
		return nil
	}
	return m.current.lines
}

// Unsearched names the types and namespaces in which the recovery of the inventory of a component that is being deleted
// could not search for dependents. It is empty if the recovery searched everywhere, or if nothing was recovered.
func (m *State) Unsearched() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.unsearched
}

// searchInterval is the shortest time between two recoveries of the inventory of a component. Another client may
// replace its record all the time, and a search lists all types. maxSearches is the number of searches in this time if
// their results cannot be written, because other clients write the component.
const (
	searchInterval = 5 * time.Minute
	maxSearches    = 3
)

// checkInterval returns the condition error for an inventory that has to be recovered less than searchInterval after
// the last recovery, or after maxSearches searches. cause says why. component is the component of the inventory.
func (m *State) checkInterval(component manifests.Key, cause string, damaged bool, now time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.recovered
	if m.searches >= maxSearches {
		last = m.searched
	}
	due := last.Add(searchInterval)
	if !damaged || last.IsZero() || !now.Before(due) {
		return nil
	}
	return &passerror.Error{
		Reason: metav1alpha1.ReasonRetrying, RetryAfter: due.Sub(now),
		Message: fmt.Sprintf("nothing is changed until %s, because another client changed the record of the dependents in "+
			"the status again (%s); dependents are searched at most every %s; find the client by the managed fields: "+
			"kubectl get%s %s.%s %s -o yaml --show-managed-fields", due.UTC().Format(time.TimeOnly),
			cmp.Or(cause, "it was removed"), searchInterval, inNamespace(component.Namespace),
			strings.ToLower(component.Kind), component.Group, component.Name),
	}
}

// inNamespace returns the option of kubectl for a namespace, after a space; empty without a namespace.
func inNamespace(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " -n " + namespace
}

func (m *State) setRecovered(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.recovered, m.searches = now, 0
}

// noteSearch counts a search for the dependents of a component whose record another client changed, until setRecovered
// is called.
func (m *State) noteSearch(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.searches == 0 || !now.Before(m.searched.Add(searchInterval)) {
		m.searched, m.searches = now, 0
	}
	m.searches++
}

func (m *State) setUnsearched(note string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unsearched = note
}
