package reconcile

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/lookup"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/component/result"
)

// unreported is what the process keeps of passes that ended without a report.
//
// Most of it is about passes that ended because a rendering asked for exports and has outdated values. The successor of
// such a pass continues with the status and the inventory that the pass had, as if they had been written. Both are kept
// together: the revisions in the inventory belong to the revision of the status, and without it the successor would
// begin another revision, and run the Jobs again. If another client changes the persisted status in the meantime, both
// are dropped, and the successor begins as after a crash.
type unreported struct {
	// uid is the UID of the component that all of this is about.
	uid types.UID
	// ends is the number of successive passes that ended for exports. While it is zero, the fields from before to
	// unrecorded are nil or false.
	ends int
	// before is the persisted status that the first of these passes began with, and persisted is the one that the API
	// server had at the end of the last one. status is the status that the last one had in memory. They are nil in a
	// preview, whose passes work on the same component.
	before, persisted, status *metav1alpha1.Status
	// inventory is the inventory that the last pass had in memory, and recorded the persisted one. unrecorded is set if
	// inventory must be persisted before the next write.
	inventory  []metav1alpha1.InventoryEntry
	recorded   plan.Inventory
	unrecorded bool
	// asked are the exports that the last rendering asked for, with the values that they had then. They are a copy, because
	// the watches of objects of a set that is not in memory any more may have ended. They are kept until a pass succeeds,
	// because only a status with the values of a rendering records them.
	asked []metav1alpha1.AskedExport
	// changes are the writes that no event and no log line has told.
	changes []result.Change
	// adoptions are those of passes whose status was not written. The next write of a status with a revision enters them
	// into the history, because no later pass finds anything to adopt.
	adoptions []result.Change
}

// resume continues with what the last passes over a component kept. It replaces the loaded status of the component, or
// drops what does not fit this status.
func (u *unreported) resume(c *Component) {
	if uid := c.GetUID(); u.uid != uid {
		*u = unreported{uid: uid}
	}
	if u.ends == 0 {
		return
	}
	next, ok := components.Continue(u.status, u.persisted, c.GetStatus())
	if !ok {
		*u = unreported{uid: u.uid, changes: u.changes, adoptions: u.adoptions}
		return
	}
	c.SetStatus(*next)
}

// load returns the inventory with which a pass works, which is newer than the loaded one after a pass that ended for
// exports.
func (u *unreported) load(recorded Loaded) Loaded {
	if u.ends > 0 {
		recorded.Entries, recorded.Persisted, recorded.Unrecorded = u.inventory, u.recorded, u.unrecorded
	}
	return recorded
}

// record replaces the kept inventory with a newer one that was persisted, because a pass that fails after that reports the
// kept one.
func (u *unreported) record(persisted []metav1alpha1.InventoryEntry) {
	if u.ends > 0 {
		u.inventory, u.recorded, u.unrecorded = persisted, plan.NewInventory(persisted), false
	}
}

// knownExports returns the values that the next rendering gets. lost is set if the status with the values was lost.
func (u *unreported) knownExports(c *Component, w work) (known []metav1alpha1.AskedExport, lost bool) {
	if u.asked != nil {
		return u.asked, false
	}
	return lookup.RecordedExports(c.GetStatus()), c.GetStatus().Revision == 0 && len(w.recorded.Entries) > 0
}

// keepExports keeps the inventory and the values of a pass that ends for exports.
func (u *unreported) keepExports(o outcome.Outcome) {
	u.ends++
	u.inventory, u.recorded, u.unrecorded, u.asked = o.Inventory, o.Recorded, o.Unrecorded, o.Asked
}

// keepStatus keeps the status and the changes of a pass that ends for exports. loaded is the status that the pass began
// with, and persisted the one that the API server has now. o has the changes of all passes since the last report.
func (u *unreported) keepStatus(c *Component, loaded, persisted *metav1alpha1.Status, o outcome.Outcome) {
	if u.before == nil {
		u.before = loaded
	}
	u.persisted, u.status, u.changes = persisted, c.GetStatus().DeepCopy(), o.Changes
}

// addTo returns an outcome with the changes that were not told yet.
func (u *unreported) addTo(o outcome.Outcome) outcome.Outcome {
	o.Changes = slices.Concat(u.changes, o.Changes)
	return o
}

// told is called when changes were told although the status was not written. It keeps their adoptions.
func (u *unreported) told(changes []result.Change) {
	u.changes = nil
	for _, c := range changes {
		if status.Adopts(c) {
			u.adoptions = append(u.adoptions, c)
		}
	}
}

// reported is called when the API server has the status of a pass. A pass that failed, or waits for a watch, has not
// recorded the values of exports.
func (u *unreported) reported(succeeded bool) {
	*u = unreported{uid: u.uid, asked: u.asked, adoptions: u.adoptions}
	if succeeded {
		u.asked = nil
	}
}
