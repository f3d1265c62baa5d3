package reconcile

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/budget"
	"github.com/fairlead-io/fairlead/internal/turn"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/lookup"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
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
	// ends is the number of successive passes that ended for exports. A pass that is interrupted or waits does not end
	// their row, and neither does another client that changes the persisted status.
	ends int
	// ended is the state of the last of these passes. It is nil if the next pass begins with the persisted state.
	ended *endState
	// asked are the exports that the last rendering asked for, with the values that they had then. They are a copy,
	// because the watches of objects of a set that is not in memory any more may have ended. They are kept until a pass
	// succeeds, because only a status with the values of a rendering has them, or until renderings with them fail.
	// failed is set after a rendering with them failed that is tried again.
	asked  []metav1alpha1.AskedExport
	failed bool
	// changes are the writes that no Event and no log line has told.
	changes []result.Change
	// adoptions are those of passes whose status was not written. The next write of a status with a revision enters them
	// into the history, because no later pass finds anything to adopt.
	adoptions []result.Change
}

// endState is the state in memory with which a pass ended for exports.
type endState struct {
	// before is the persisted status that the first of several such passes began with, and persisted is the one that the
	// API server had at the end of the last one. status is the status that the last one had in memory. They are nil in a
	// preview, whose passes work on the same component. Equal lines of inventories are shared.
	before, persisted, status *metav1alpha1.Status
	// inventory is the inventory that the pass had in memory, and recorded the persisted one. unrecorded is set if
	// inventory must be persisted before the next write.
	inventory  []metav1alpha1.InventoryEntry
	recorded   plan.Inventory
	unrecorded bool
}

// resume continues with what the last passes over a component kept. It replaces the loaded status of the component, or
// drops what does not fit this status.
func (u *unreported) resume(c *Component) {
	if uid := c.GetUID(); u.uid != uid {
		*u = unreported{uid: uid}
	}
	if u.ended == nil {
		return
	}
	next, ok := components.Continue(u.ended.status, u.ended.persisted, c.GetStatus())
	if !ok {
		u.ended, u.asked = nil, nil
		return
	}
	c.SetStatus(*next)
}

// load returns the inventory with which a pass works, which is newer than the loaded one after a pass that ended for
// exports. If the persisted inventory was lost meanwhile, c has the recovered one, and the kept one must be persisted
// before the next write.
func (u *unreported) load(c *Component, recorded Loaded) Loaded {
	ended := u.ended
	if ended == nil {
		return recorded
	}
	if ended.persisted != nil && !components.RefOf(c.GetStatus()).Equal(components.RefOf(ended.persisted)) {
		ended.recorded, ended.unrecorded = plan.NewInventory(recorded.Entries), true
	}
	recorded.Entries, recorded.Persisted, recorded.Unrecorded = ended.inventory, ended.recorded, ended.unrecorded
	return recorded
}

// inventory returns the kept inventory, nil if there is none.
func (u *unreported) inventory() []metav1alpha1.InventoryEntry {
	if u.ended == nil {
		return nil
	}
	return u.ended.inventory
}

// before returns the persisted status that the first of the passes without a report began with. loaded is the one that
// this pass began with.
func (u *unreported) before(loaded *metav1alpha1.Status) *metav1alpha1.Status {
	if u.ended == nil {
		return loaded
	}
	return u.ended.before
}

// replace replaces the kept inventory with a newer one that was persisted, because a pass that fails after that reports
// the kept one.
func (u *unreported) replace(persisted []metav1alpha1.InventoryEntry) {
	if u.ended != nil {
		u.ended.inventory, u.ended.recorded, u.ended.unrecorded = persisted, plan.NewInventory(persisted), false
	}
}

// knownExports returns the values that the next rendering gets. lost is set if the status with the values was lost.
func (u *unreported) knownExports(c *Component, w work) (known []metav1alpha1.AskedExport, lost bool) {
	if u.asked != nil {
		return u.asked, false
	}
	return lookup.ExportsOf(c.GetStatus()), c.GetStatus().Revision == 0 && len(w.recorded.Entries) > 0
}

// unrendered is called when the rendering fails. If it cannot succeed with the kept values, or has failed with them
// twice, they are dropped: no plan compares them any more, so the component would not get newer ones. The next
// rendering gets the recorded values. A rendering that did not begin does not count.
func (u *unreported) unrendered(err error) {
	switch {
	case u.asked == nil || !began(err):
	case passerror.Of(err).Terminal || u.failed:
		u.asked, u.failed = nil, false
	default:
		u.failed = true
	}
}

// began reports whether a rendering with an error began. It did not begin if it waits for memory, its turn or its
// source.
func began(err error) bool {
	return !waitsToRender(err) && !errors.Is(err, passerror.ErrObserving) && !passerror.Interrupted(err) &&
		passerror.Of(err).Reason != metav1alpha1.ReasonFetching
}

// waitsToRender reports whether a rendering waits for memory or for its turn.
func waitsToRender(err error) bool {
	return errors.Is(err, budget.ErrWait) || errors.Is(err, turn.ErrLater)
}

// keepExports keeps the inventory and the values of a pass that ends for exports.
func (u *unreported) keepExports(o outcome.Outcome) {
	u.ends++
	if u.ended == nil {
		u.ended = &endState{}
	}
	u.ended.inventory, u.ended.recorded, u.ended.unrecorded = o.Inventory, o.Recorded, o.Unrecorded
	u.asked, u.failed = o.Asked, false
}

// keepStatus keeps the status and the changes of a pass that ends for exports. loaded is the status that the pass began
// with, and persisted the one that the API server has now. o has the changes of all passes since the last report.
func (u *unreported) keepStatus(c *Component, loaded, persisted *metav1alpha1.Status, o outcome.Outcome) {
	ended := u.ended
	if ended.before == nil {
		ended.before = loaded
	}
	ended.persisted, ended.status, u.changes = persisted, c.GetStatus().DeepCopy(), o.Changes
	// Nobody changes these statuses, so they can have the same lines.
	for _, s := range []*metav1alpha1.Status{ended.before, ended.status} {
		if slices.Equal(s.Inventory, persisted.Inventory) {
			s.Inventory = persisted.Inventory
		}
	}
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

// unwritten is called when the status of a pass cannot be written, which is tried again later.
func (u *unreported) unwritten() { u.ends = 0 }

// reported is called when the API server has the status of a pass. A pass that failed, or waits for a watch, has not
// recorded the values of exports.
func (u *unreported) reported(succeeded bool) {
	*u = unreported{uid: u.uid, asked: u.asked, failed: u.failed, adoptions: u.adoptions}
	if succeeded {
		u.asked = nil
	}
}
