package show

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/dependentcauses"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/component/tree"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// SchemaVersion is the version of the schema of JSON and YAML. Fields may be added; the meaning of a field never
// changes.
const SchemaVersion = "cli.fairlead.io/v1alpha1"

// Tree is a component with its dependents.
type Tree struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Component  Component `json:"component"`
	// Operator is set if the status may be old.
	Operator *Operator `json:"operator,omitempty"`
	// Dependents are sorted by wave, stage, kind, namespace and name.
	Dependents []Dependent `json:"dependents"`
	// LeftOut are the first ten objects that are not applied, because their conditions are false.
	LeftOut []LeftOut `json:"leftOut,omitempty"`

	// reported are the numbers of the status if fewer dependents are ready now.
	reported string
}

// Dependent is a dependent with its readiness.
type Dependent struct {
	Wave      int    `json:"wave"`
	Group     string `json:"group"`
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	UID       string `json:"uid,omitempty"`
	// DependsOn are the objects and groups that the dependent depends on. If there are any, the dependent belongs to no
	// wave, and Wave is 0.
	DependsOn []string `json:"dependsOn,omitempty"`
	// State is Ready, NotUpdated, InProgress, Failed, Terminating, Completed, Missing or Unknown. NotUpdated is a ready
	// object whose last write failed.
	State string `json:"state"`
	// Observed is set if the component only reads the object, by the reconcile policy observe.
	Observed bool `json:"observed,omitempty"`
	// Reason and Message explain a state other than Ready. For a Ready dependent with a repair conflict, they name the
	// other client.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Causes are the reasons one level below the dependent, if it is not ready and they can be read.
	Causes []dependentcauses.Cause `json:"causes,omitempty"`
	// Ignored are the fields of the live object that are left to others.
	Ignored []TreeIgnored `json:"ignored,omitempty"`
}

// TreeIgnored is a path to fields of a dependent that are left to others.
type TreeIgnored struct {
	Path string `json:"path"`
	// By is where the rule was written: annotation, option or spec.
	By string `json:"by"`
}

// String returns the name in the form of a status.
func (d Dependent) String() string {
	return manifests.Key{Group: d.Group, Kind: d.Kind, Namespace: d.Namespace, Name: d.Name}.String()
}

// NewTree converts a component and the nodes of its tree into the form that commands print.
func NewTree(obj *unstructured.Unstructured, status metav1alpha1.Status, nodes []tree.Node) Tree {
	tree := Tree{
		APIVersion: SchemaVersion, Kind: "Tree",
		Component: NewComponent(obj, status), Dependents: make([]Dependent, 0, len(nodes)),
		LeftOut: leftOutOf(status.LeftOut),
	}
	conflicts := repairConflictsIn(status)
	for _, n := range nodes {
		d := Dependent{
			Wave:      n.Wave,
			Group:     n.Key.Group,
			Version:   n.Version,
			Kind:      n.Key.Kind,
			Namespace: n.Key.Namespace,
			Name:      n.Key.Name,
			UID: string(
				n.UID,
			),
			DependsOn: n.DependsOn,
			State:     string(n.State),
			Observed:  n.Observed,
			Reason:    n.Reason,
			Message:   n.Message,
		}
		if message, ok := conflicts[n.Key.String()]; ok {
			d.Reason, d.Message = result.ReportRepairConflict, message
		}
		for _, i := range n.Ignored {
			d.Ignored = append(d.Ignored, TreeIgnored{Path: i.Path, By: string(i.Source)})
		}
		tree.Dependents = append(tree.Dependents, d)
	}
	tree.countLive()
	return tree
}

// countLive lowers the number of ready dependents to that of the rows, because the status is older than the rows. If
// rows are missing, the number stays.
func (t *Tree) countLive() {
	counts, live := &t.Component.Dependents, int32(0)
	for _, d := range t.Dependents {
		switch result.NodeState(d.State) {
		case result.NodeReady, result.NodeNotUpdated, result.NodeCompleted, result.NodeUnknown:
			live++
		case result.NodeInProgress, result.NodeFailed, result.NodeTerminating, result.NodeMissing:
		}
	}
	if len(t.Dependents) < int(counts.Total) || live >= counts.Ready {
		return
	}
	t.reported = counts.Summary
	counts.Ready, counts.Summary = live, fmt.Sprintf("%d/%d", live, counts.Total)
}

// AddCauses adds the causes of the dependents that are not ready, given by the dependents' names.
func (t *Tree) AddCauses(found map[string][]dependentcauses.Cause) {
	for i := range t.Dependents {
		t.Dependents[i].Causes = found[t.Dependents[i].String()]
	}
}

// repairConflictsIn returns the messages about repair conflicts in a status, by the dependents' names. Only the status
// has these messages.
func repairConflictsIn(status metav1alpha1.Status) map[string]string {
	conflicts := map[string]string{}
	for _, w := range status.Waiting {
		if w.Reason == result.ReportRepairConflict {
			conflicts[w.Dependent] = w.Message
		}
	}
	return conflicts
}

// Print writes the tree.
func (t Tree) Print(o Output) error {
	switch {
	case o.Structured():
		return o.write(t)
	case o.Format == FormatName:
		names := make([]string, 0, len(t.Dependents))
		for _, d := range t.Dependents {
			names = append(names, ObjectName(d.Group, d.Kind, d.Name))
		}
		return o.names(names)
	}
	if _, err := fmt.Fprintln(o, t.headline(o.Palette)); err != nil {
		return err
	}
	if err := t.printDependents(o); err != nil {
		return err
	}
	_, err := io.WriteString(o, lines(leftOutTable(o.Palette, t.LeftOut)))
	return err
}

// printDependents writes the table of the dependents, with the causes and the ignored fields, after an empty line.
func (t Tree) printDependents(o Output) error {
	if len(t.Dependents) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(o); err != nil {
		return err
	}
	titles := []string{"WAVE", "KIND", "NAME", "STATE"}
	if o.Format == FormatWide {
		titles = append(titles, "VERSION", "UID")
	}
	graph := slices.ContainsFunc(t.Dependents, func(d Dependent) bool { return len(d.DependsOn) > 0 })
	if graph {
		titles = append(titles, titleDependsOn)
	}
	var rows [][]cell
	for _, d := range t.Dependents {
		cells := append(row(waveOf(d.Wave, d.DependsOn), withGroup(d.Kind, d.Group), withNamespace(d.Namespace, d.Name)),
			state(d.State))
		if o.Format == FormatWide {
			cells = append(cells, row(orDash(d.Version), orDash(d.UID))...)
		}
		if graph {
			cells = append(cells, row(orDash(strings.Join(d.DependsOn, ", ")))...)
		}
		rows = append(rows, append(cells, row(d.explanation())...))
	}
	if err := table(o, append(titles, "MESSAGE"), rows); err != nil {
		return err
	}
	var waiting []Waiting
	for _, d := range t.Dependents {
		waiting = append(waiting, Waiting{Dependent: d.String(), Causes: d.Causes})
	}
	_, err := io.WriteString(o, lines(append(causesTable(o.Palette, waiting), t.ignored()...)))
	return err
}

// ignored returns the lines about ignored fields, after an empty line, as a plan has them.
func (t Tree) ignored() []string {
	var texts []string
	for _, d := range t.Dependents {
		for _, i := range d.Ignored {
			if len(texts) == 0 {
				texts = append(texts, "")
			}
			ignored := PlanIgnored{Dependent: d.String(), Path: i.Path, By: i.By}
			texts = append(texts, terminal.Clean(ignored.String()))
		}
	}
	return texts
}

// titleDependsOn is the title of the column with dependencies. Tables without dependencies do not have this column.
const titleDependsOn = "DEPENDS ON"

// waveOf returns the number of a wave, and a dash for an object that belongs to no wave.
func waveOf(wave int, dependsOn []string) string {
	if len(dependsOn) > 0 {
		return "-"
	}
	return fmt.Sprint(wave)
}

// explanation returns the reason and the message of a state.
func (d Dependent) explanation() string {
	text := explanation(d.Reason, d.Message)
	if d.Observed {
		return strings.TrimSuffix("observed; "+text, "; ")
	}
	if d.State == string(result.NodeNotUpdated) {
		return "Ready, but not updated: " + text
	}
	return text
}

func (t Tree) headline(p terminal.Palette) string {
	c := t.Component
	line := fmt.Sprintf("%s %s: ", c.kind(), withNamespace(c.Namespace, c.Name))
	if c.State == "" {
		return line + "the operator has not reconciled it yet"
	}
	summary := c.Dependents.Summary
	if t.reported != "" {
		summary += " (" + t.reported + " in the status)"
	}
	state := p.In(toneOf(c.State), oneLine(c.State))
	line += fmt.Sprintf("%s, %s dependents ready, revision %d", state, summary, c.Revision)
	if c.State != string(metav1alpha1.StateReady) && c.Message != "" {
		line += "\n" + oneLine(c.Message)
	}
	return line
}
