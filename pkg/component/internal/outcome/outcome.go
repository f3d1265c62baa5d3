package outcome

import (
	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/result"
)

// Outcome is the result of a pass: the part that authors and callers of an Engine see, and what only the engine needs.
type Outcome struct {
	result.Outcome
	// Exports are the values of the requested exports, as JSON, by name. Exports without a value are missing.
	Exports map[string][]byte
	// Held is set if nothing but repairs was written, because the API server would refuse manifests of the apply set.
	Held bool
	// Unrendered is set if the pass had no rendering of its inputs, so that it made only repairs, or only counted.
	Unrendered bool
	// Created are the entries of all dependents for which a create was sent, whether the create succeeded or not.
	Created plan.Inventory
	// Asked is set if the pass ended because the rendering contains outdated values of exports, so that the dependents
	// must be rendered again. It has the exports that the rendering asked for, with their current values. Inventory is
	// then what the pass had in memory, and Recorded the persisted inventory. Unrecorded is set if Inventory must be
	// persisted before the next write.
	Asked      []metav1alpha1.AskedExport
	Recorded   plan.Inventory
	Unrecorded bool
	// Unsearched names the types and namespaces in which the recovery of a lost inventory could not search for
	// dependents. Unsearched is empty if the search was complete.
	Unsearched string
}

// Done reports whether there is nothing left to do and nothing to wait for.
func (o Outcome) Done() bool { return o.Asked == nil && o.Outcome.Done() }

// Failures returns the dependents that failed, and those failed dependents for which a retry cannot help (terminal).
func (o Outcome) Failures() (failed, terminal []result.Waiting) {
	for _, w := range o.Waiting {
		if w.Failed {
			failed = append(failed, w)
		}
		if w.Terminal {
			terminal = append(terminal, w)
		}
	}
	return failed, terminal
}

// UndefinedFirst returns Waiting with the dependents at the front whose types nothing serves or defines: a person has
// to act on them.
func (o Outcome) UndefinedFirst() []result.Waiting {
	var first, others []result.Waiting
	for _, w := range o.Waiting {
		if w.Undefined {
			first = append(first, w)
			continue
		}
		others = append(others, w)
	}
	return append(first, others...)
}

// Reports returns the dependents that keep the component from being ready, each once, those of UndefinedFirst first.
func (o Outcome) Reports() []metav1alpha1.DependentReport {
	reports, listed := make([]metav1alpha1.DependentReport, 0, len(o.Waiting)), map[string]bool{}
	for _, w := range o.UndefinedFirst() {
		reports = append(reports, w.DependentReport)
		listed[w.Dependent] = true
	}
	for _, c := range o.RepairConflicts {
		if !listed[c.Dependent] {
			reports = append(reports, c)
		}
	}
	return reports
}

// ChangeOf returns the change that an action makes. An adoption always has the verb Adopt, although the verb of the
// action may be Apply, for example.
func ChangeOf(a plan.Action) result.Change {
	verb := string(a.Verb)
	switch {
	case a.Verb == plan.VerbCreateNamespace:
		verb = string(plan.VerbCreate)
	case a.Reason.Adopts():
		// Users must see every adoption in the changes, whichever verb writes the object.
		verb = "Adopt"
	}
	return result.Change{Verb: verb, Key: a.Key, Wave: a.Wave, Reason: string(a.Reason), From: a.AdoptedFrom, Note: a.Note}
}
