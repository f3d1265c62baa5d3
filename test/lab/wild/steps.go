package main

import (
	"fmt"
	"slices"
	"time"
)

// step is one of the operations that are made with each chart.
type step string

const (
	stepInstall   step = "install"
	stepUpgrade   step = "upgrade"
	stepRepeat    step = "repeat"
	stepRollBack  step = "roll-back"
	stepUninstall step = "uninstall"
)

// allSteps contains all steps in the order in which they are made. The step repeat has the same values as the upgrade
// before it.
var allSteps = []step{stepInstall, stepUpgrade, stepRepeat, stepRollBack, stepUninstall}

// needsChange reports whether a step is left out if the chart contains no value whose change changes the rendering.
func (s step) needsChange() bool { return s == stepUpgrade || s == stepRollBack }

// changed reports whether a step applies the changed values.
func (s step) changed() bool { return s == stepUpgrade || s == stepRepeat }

// outcome is the result of a step with one of the programs.
type outcome struct {
	Step     step          `json:"step"`
	Took     time.Duration `json:"took"`
	Requests int           `json:"requests"`
	// Writes is the number of Fairlead's writes to objects of the chart.
	Writes int `json:"writes,omitempty"`
	// Executed are the hooks that were created.
	Executed []string `json:"executed,omitempty"`
	// Failure is the end of the program's output. It is empty if the program succeeded.
	Failure string `json:"failure,omitempty"`
	// Objects is the number of objects in the cluster after the step.
	Objects int `json:"objects"`

	// there contains the objects in the cluster after the step, except those that controllers created.
	there objects
}

// judgement is the judgement about a chart.
type judgement struct {
	Chart   string `json:"chart"`
	Version string `json:"version"`
	// Program is the version of Fairlead.
	Program string `json:"program"`
	// Change contains the values that the upgrade changes. It is empty if no change of a value changes the rendering.
	Change map[string]any `json:"change,omitempty"`
	// Unusable is the reason why the chart is not counted: Helm cannot install it.
	Unusable string `json:"unusable,omitempty"`
	// Short contains the shortfalls of Fairlead. Notes contains the differences that the documentation explains.
	Short []string `json:"short,omitempty"`
	Notes []string `json:"notes,omitempty"`
}

func (j *judgement) get() *judgement { return j }

// result is the result of all steps with a chart.
type result struct {
	judgement

	Helm     []outcome `json:"helm"`
	Fairlead []outcome `json:"fairlead"`
}

// rendering contains the rendered objects and hooks of a chart.
type rendering struct {
	// first are the objects of the first rendering with the values of a step.
	first  map[step]objects
	random mask
	hooks  hooks
}

// judge compares the outcomes of both programs.
func (r *result) judge(of rendering) {
	for _, theirs := range r.Helm {
		if theirs.Failure != "" {
			r.note(theirs.Step, "Helm fails, and the step is not compared: "+theirs.Failure)
			continue
		}
		i := slices.IndexFunc(r.Fairlead, func(o outcome) bool { return o.Step == theirs.Step })
		if i < 0 {
			continue // It was left out after a failure, which is a shortfall.
		}
		ours := r.Fairlead[i]
		if ours.Failure != "" {
			r.shortfall(ours.Step, ours.Failure)
			continue
		}
		if ours.Step == stepRepeat {
			r.judgeRepeat(ours)
			continue
		}
		r.judgeObjects(theirs, ours, of)
		r.judgeHooks(theirs, ours)
	}
}

// judgeRepeat judges an upgrade without a change. Helm creates a new revision, renders the chart again and runs hooks.
// Fairlead must write nothing.
func (r *result) judgeRepeat(ours outcome) {
	if ours.Writes > 0 {
		r.shortfall(stepRepeat, fmt.Sprintf("%d writes to objects of the chart, although nothing changed", ours.Writes))
	}
}

// judgeObjects compares the objects in the two clusters after a step. After the uninstallation, Fairlead may have
// removed more objects than Helm, and may retain PersistentVolumeClaims.
func (r *result) judgeObjects(theirs, ours outcome, of rendering) {
	isHook := of.hooks.has
	if theirs.Step == stepInstall {
		isHook = func(id) bool { return false }
	}
	if theirs.Step == stepUninstall {
		for _, key := range sortedIDs(ours.there.without(theirs.there)) {
			if key.kind == "PersistentVolumeClaim" {
				r.note(stepUninstall, key.String()+": a claim that Helm deletes, and we keep")
				continue
			}
			r.shortfall(stepUninstall, key.String()+": left behind")
		}
		for _, key := range sortedIDs(theirs.there.without(ours.there)) {
			r.note(stepUninstall, key.String()+": only Helm leaves it behind")
		}
		return
	}
	c := compare(theirs.there, ours.there, of.random, isHook)
	for _, text := range c.short {
		r.shortfall(theirs.Step, text)
	}
	for _, text := range c.notes {
		r.note(theirs.Step, text)
	}
}

// judgeHooks compares the hooks that ran.
func (r *result) judgeHooks(theirs, ours outcome) {
	if !slices.Equal(theirs.Executed, ours.Executed) {
		r.shortfall(theirs.Step, fmt.Sprintf("hooks: Helm's %s, ours %s", theirs.Executed, ours.Executed))
	}
}

func (j *judgement) shortfall(s step, text string) { j.Short = append(j.Short, string(s)+": "+text) }

func (j *judgement) note(s step, text string) { j.Notes = append(j.Notes, string(s)+": "+text) }

// verdict returns the result in one word.
func (j *judgement) verdict() string {
	switch {
	case j.Unusable != "":
		return "not counted"
	case len(j.Short) > 0:
		return "SHORT"
	}
	return "equal"
}
