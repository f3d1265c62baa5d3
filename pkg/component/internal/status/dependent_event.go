package status

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/result"
)

// The reasons of Events about dependents.
const (
	reasonAdopted = "Adopted"
	reasonFailed  = "Failed"
	reasonDropped = "FieldsDropped"
)

// maxDependentEvents is the maximum number of Events about the dependents of a component, for each reason and revision.
// An Event for each object would double the load on the API server.
const maxDependentEvents = 10

// DependentEvent is an Event about a dependent.
type DependentEvent struct {
	Event

	Dependent metav1alpha1.InventoryEntry
}

// ToldDependents are the Events about dependents that exist for a revision of a component. The zero value is ready for
// use.
type ToldDependents struct {
	revision int64
	// dependents are the keys of the dependents, by the reason of the Event.
	dependents map[string]map[string]bool
}

// Events returns the Events of a pass about dependents that were adopted, were repaired, or failed: one for each
// dependent, reason and revision, and at most maxDependentEvents for each reason and revision. after is the status at
// the end of the pass. Dependents outside Kubernetes or in another cluster than the component, and objects that do not
// exist, get no Event.
func (t *ToldDependents) Events(after *metav1alpha1.Status, o outcome.Outcome) []DependentEvent {
	t.begin(after.Revision)
	if after.TargetCluster != "" {
		return nil
	}
	var events []DependentEvent
	var existing map[string]metav1alpha1.InventoryEntry
	for _, n := range newsOf(o) {
		if told := t.dependents[n.Reason]; told[n.dependent] || len(told) >= maxDependentEvents {
			continue
		}
		if existing == nil {
			existing = existingIn(o.Inventory)
		}
		entry, exists := existing[n.dependent]
		if !exists {
			continue
		}
		t.tell(n.Reason, n.dependent)
		events = append(events, DependentEvent{n.Event, entry})
	}
	return events
}

// Dropped returns the Event of a component about fields that the API server drops: one for each revision and field, and
// at most maxDependentEvents fields for each revision. The result is the zero value if all of them were told.
func (t *ToldDependents) Dropped(revision int64, fields []result.DroppedField) Event {
	t.begin(revision)
	var named []string
	more := 0
	for _, f := range fields {
		told := t.dependents[reasonDropped]
		switch {
		case told[f.String()]:
		case len(told) >= maxDependentEvents:
			more++
		default:
			t.tell(reasonDropped, f.String())
			named = append(named, f.String())
		}
	}
	if len(named) == 0 {
		return Event{}
	}
	note := "the API server drops fields that the types do not have; correct or remove them: " + strings.Join(named, "; ")
	if more > 0 {
		note += fmt.Sprintf("; and %d more", more)
	}
	return Warning(reasonDropped, note)
}

// begin forgets the Events of another revision.
func (t *ToldDependents) begin(revision int64) {
	if t.revision != revision || t.dependents == nil {
		*t = ToldDependents{revision: revision, dependents: map[string]map[string]bool{}}
	}
}

func (t *ToldDependents) tell(reason, dependent string) {
	if t.dependents[reason] == nil {
		t.dependents[reason] = map[string]bool{}
	}
	t.dependents[reason][dependent] = true
}

// news is an Event about the dependent with a key.
type news struct {
	Event

	dependent string
}

// newsOf returns the Events of a pass without a limit.
func newsOf(o outcome.Outcome) []news {
	var all []news
	for _, c := range o.Changes {
		switch reason := plan.Reason(c.Reason); {
		case reason.Adopts():
			all = append(all, news{Event{corev1.EventTypeNormal, reasonAdopted, describeReason(c)}, c.Key.String()})
		case isRepair(reason):
			all = append(all, news{Event{corev1.EventTypeNormal, reasonRepaired, c.Reason}, c.Key.String()})
		}
	}
	for _, w := range o.Waiting {
		if w.Failed {
			all = append(all, news{Warning(reasonFailed, w.Reason+": "+w.Message), w.Dependent})
		}
	}
	return all
}

// existingIn returns the entries of existing objects by their keys. Externals are left out, because they have no
// namespace for an Event.
func existingIn(inventory []metav1alpha1.InventoryEntry) map[string]metav1alpha1.InventoryEntry {
	entries := map[string]metav1alpha1.InventoryEntry{}
	for _, e := range inventory {
		if e.UID != "" && !e.External {
			entries[plan.KeyOf(e).String()] = e
		}
	}
	return entries
}

// isRepair reports whether a change with this reason repaired a dependent.
func isRepair(reason plan.Reason) bool {
	return reason == plan.ReasonDrifted || reason == plan.ReasonMissing || reason == plan.ReasonUnlabelled ||
		reason == plan.ReasonDiffers
}
