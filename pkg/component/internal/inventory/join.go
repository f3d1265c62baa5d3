package inventory

import (
	"fmt"
	"slices"
	"strings"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// recovered is an inventory. report is the result of the search for dependents; it is nil if the recorded inventory is
// used.
type recovered struct {
	entries []metav1alpha1.InventoryEntry
	report  Report
	// cause says why a record that is not lost was not used. added are the dependents that it lacked, and copies are
	// objects with the marks of the owner that the record does not have and that another client wrote. They do not count.
	cause         string
	added, copies []metav1alpha1.InventoryEntry
	// restored is set if the component may have been restored from a backup; see isRestored.
	restored bool
}

// isRestored reports whether a component may have been restored from a backup together with its dependents: its status
// was written for another component of the same name, or was lost as a whole. Then the recorded UIDs are those of other
// objects.
func isRestored(obj components.Object) bool {
	return obj.GetStatus().Reconciler == "" || components.WrittenForAnother(obj)
}

// join returns the inventory with the entries of a record and of live dependents. An object that another client wrote
// counts only if the record contains its UID: another object of a recorded name is a copy that somebody made of a
// deleted dependent. If the component is restored, the name is enough.
func join(recorded, live []metav1alpha1.InventoryEntry, report Report, restored bool) recovered {
	known, inventory := plan.NewInventory(recorded), plan.NewInventory(live)
	result := recovered{report: report, restored: restored}
	for _, e := range live {
		if _, ok := known[plan.KeyOf(e)]; !ok {
			result.added = append(result.added, e)
		}
	}
	for _, e := range report.unproven() {
		if r, ok := known[plan.KeyOf(e)]; ok && (restored || r.UID == e.UID) {
			inventory[plan.KeyOf(e)] = e
			continue
		}
		result.copies = append(result.copies, e)
	}
	for _, e := range recorded {
		result.addRecorded(inventory, e)
	}
	result.entries = inventory.Sorted()
	return result
}

// addRecorded adds a recorded entry to an inventory of live dependents. An entry is not added if the object has been
// created again, with another UID. Facts that the search has found at a live object are used, because another client
// may have edited the record, and the record may be older than the last apply of the object.
func (r recovered) addRecorded(live plan.Inventory, e metav1alpha1.InventoryEntry) {
	if r.isReplaced(e) {
		return
	}
	found, ok := live[plan.KeyOf(e)]
	if ok && (found.UID != e.UID || found.External != e.External) {
		return
	}
	if ok && !found.External {
		e.Version, e.Types, e.Guarded, e.Phase = found.Version, found.Types, found.Guarded, found.Phase
		e.DeletePolicy, e.PrunePolicy = found.DeletePolicy, found.PrunePolicy
		e.DependsOn, e.DependencyGroup = found.DependsOn, found.DependencyGroup
	}
	live[plan.KeyOf(e)] = e
}

// isReplaced reports whether another client has created the object of a recorded entry again. An entry of that name
// would let the plan delete the object, because it has the owner label.
func (r recovered) isReplaced(e metav1alpha1.InventoryEntry) bool {
	return !r.restored && slices.ContainsFunc(r.copies, func(copied metav1alpha1.InventoryEntry) bool {
		return plan.KeyOf(copied) == plan.KeyOf(e) && copied.UID != e.UID
	})
}

// describe returns the text of an Event about a record that another client changed.
func (r recovered) describe() string {
	note := "another client changed the record of the dependents in the status (" + r.cause +
		"); the dependents were searched by their owner labels"
	if len(r.added) > 0 {
		note += fmt.Sprintf("; added again (%d): %s", len(r.added), describeEntries(r.added))
	}
	return note + r.describeCopies()
}

// describeCopies returns the text about objects that have the marks of the owner but do not count.
func (r recovered) describeCopies() string {
	if len(r.copies) == 0 {
		return ""
	}
	return fmt.Sprintf("; not counted, because other clients wrote them with the owner label (%d): %s", len(r.copies),
		describeEntries(r.copies))
}

func describeEntries(entries []metav1alpha1.InventoryEntry) string {
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, plan.KeyOf(e).String())
	}
	return strings.Join(bounded(names), ", ")
}
