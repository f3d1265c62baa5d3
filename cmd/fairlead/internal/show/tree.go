// Package show prints what the command line knows: as tables for people, and as JSON and YAML of a stable schema for programs.
package show

import (
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
)

// SchemaVersion is the version of the JSON and YAML that is printed. Fields may be added to it; none changes its meaning.
const SchemaVersion = "cli.fairlead.io/v1alpha1"

// Tree is a component with its dependents.
type Tree struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Component  Component `json:"component"`
	// Dependents are ordered by wave, stage, kind, namespace and name.
	Dependents []Dependent `json:"dependents"`
}

// Dependent is a dependent and its readiness.
type Dependent struct {
	Wave      int    `json:"wave"`
	Group     string `json:"group"`
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	UID       string `json:"uid,omitempty"`
	// State is Ready, InProgress, Failed, Terminating, Missing or Unknown.
	State string `json:"state"`
	// Reason and Message explain a state other than Ready.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// NewTree puts together a component and the nodes of its tree.
func NewTree(obj *unstructured.Unstructured, status metav1alpha1.Status, nodes []component.Node) Tree {
	tree := Tree{
		APIVersion: SchemaVersion, Kind: "Tree",
		Component: NewComponent(obj, status), Dependents: make([]Dependent, 0, len(nodes)),
	}
	for _, n := range nodes {
		tree.Dependents = append(tree.Dependents, Dependent{
			Wave: n.Wave, Group: n.Key.Group, Version: n.Version, Kind: n.Key.Kind, Namespace: n.Key.Namespace, Name: n.Key.Name,
			UID: string(n.UID), State: string(n.State), Reason: n.Reason, Message: n.Message,
		})
	}
	return tree
}

// Print writes the tree in a format.
func (t Tree) Print(out io.Writer, format Format) error {
	if format != FormatTable {
		return encode(out, format, t)
	}
	if _, err := fmt.Fprintln(out, t.headline()); err != nil || len(t.Dependents) == 0 {
		return err
	}
	if _, err := fmt.Fprintln(out); err != nil {
		return err
	}
	rows := [][]string{{"WAVE", "KIND", "NAME", "STATE", "MESSAGE"}}
	for _, d := range t.Dependents {
		rows = append(rows, []string{fmt.Sprint(d.Wave), withGroup(d.Kind, d.Group), withNamespace(d.Namespace, d.Name), d.State, d.explanation()})
	}
	return table(out, rows)
}

func (t Tree) headline() string {
	c := t.Component
	line := fmt.Sprintf("%s %s: ", c.kind(), withNamespace(c.Namespace, c.Name))
	if c.State == "" {
		return line + "the operator has not seen it yet"
	}
	line += fmt.Sprintf("%s, %s dependents ready, revision %d", c.State, c.Dependents.Summary, c.Revision)
	if c.State != string(metav1alpha1.StateReady) && c.Message != "" {
		line += "\n" + oneLine(c.Message)
	}
	return line
}

func (d Dependent) explanation() string {
	switch {
	case d.Reason == "":
		return oneLine(d.Message)
	case d.Message == "":
		return d.Reason
	}
	return d.Reason + ": " + oneLine(d.Message)
}
