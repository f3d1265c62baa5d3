package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/test/lab/markdown"
)

// The steps of a migration. stepInstall, stepUpgrade and stepUninstall are steps of Helm in the same cluster.
const (
	stepThere step = "there"
	stepCheck step = "check"
	stepBack  step = "back"
)

// migration is the result of a migration from Helm to Fairlead, and back to Helm.
type migration struct {
	judgement

	// Installed contains the numbers of objects that Helm installed, and of the pods and claims that controllers created
	// for them. There and Back contain the numbers of these objects that still exist after the hand-over to Fairlead, and
	// after the hand-over to Helm and a further upgrade.
	Installed counts `json:"installed"`
	There     counts `json:"there"`
	Back      counts `json:"back"`
	// Took contains the time of each step.
	Took map[step]time.Duration `json:"took,omitempty"`
}

// counts are numbers of objects. Objects are all objects but pods and claims.
type counts struct {
	Objects int `json:"objects"`
	Pods    int `json:"pods"`
	Claims  int `json:"claims"`
}

func (c counts) String() string { return fmt.Sprintf("%d, %d, %d", c.Objects, c.Pods, c.Claims) }

func (c *counts) add(kind string) {
	switch kind {
	case "Pod":
		c.Pods++
	case "PersistentVolumeClaim":
		c.Claims++
	default:
		c.Objects++
	}
}

// lasting returns the objects of a chart that must keep their UIDs, including the objects that controllers created,
// such as pods. It leaves out hooks and CronJobs' Jobs, which are created again, and everything that belongs to them.
func (o objects) lasting(of hooks) objects {
	byUID := map[types.UID]id{}
	for key, object := range o {
		byUID[object.GetUID()] = key
	}
	var brief func(key id) bool
	brief = func(key id) bool {
		if of.has(key) || key.kind == "CronJob" {
			return true
		}
		owner := metav1.GetControllerOf(o[key])
		if owner == nil {
			return false
		}
		above, found := byUID[owner.UID]
		return found && brief(above)
	}
	kept := objects{}
	for key, object := range o {
		if slices.Contains(madeKinds, key.kind) || brief(key) && key.kind != "CronJob" {
			continue
		}
		kept[key] = object
	}
	return kept
}

// keptIn counts the objects that have the same UID afterwards.
func (o objects) keptIn(after objects) (c counts) {
	for key, object := range o {
		if is, found := after[key]; found && is.GetUID() == object.GetUID() {
			c.add(key.kind)
		}
	}
	return c
}

// judgeKept compares the objects before and after a step. Each object must have kept its UID and its specification.
// Objects whose templates have random values may be replaced by their controllers, as by any upgrade with Helm.
func (m *migration) judgeKept(s step, before, after objects, random mask) {
	for _, key := range sortedIDs(before) {
		was, is := before[key], after[key]
		replaceable := before.isOfRandomTemplate(was, random)
		switch {
		case is != nil && is.GetUID() == was.GetUID():
			if !replaceable {
				m.judgeSpecification(s, key, was, is, random)
			}
		case random.names[key.kind] > 0 || replaceable:
			m.note(s, key.String()+": not kept, because of random values of the chart")
		case is == nil:
			m.shortfall(s, key.String()+": not kept")
		default:
			m.shortfall(s, key.String()+": created again")
		}
	}
	for _, key := range sortedIDs(after.without(before)) {
		if metav1.GetControllerOf(after[key]) == nil && random.names[key.kind] == 0 {
			m.shortfall(s, key.String()+": did not exist before")
		}
	}
}

func (m *migration) judgeSpecification(s step, key id, was, is *unstructured.Unstructured, random mask) {
	for _, d := range differences(normalise(was), normalise(is)) {
		if !random.hides(key, d.path) {
			m.shortfall(s, fmt.Sprintf("%s: %s: %s became %s", key, d.path, shown(d.theirs), shown(d.ours)))
		}
	}
}

// isOfRandomTemplate reports whether a controller created an object from a template that has random values.
func (o objects) isOfRandomTemplate(object *unstructured.Unstructured, random mask) bool {
	owner := metav1.GetControllerOf(object)
	for owner != nil {
		var above *unstructured.Unstructured
		for key, candidate := range o {
			if candidate.GetUID() == owner.UID {
				above = candidate
				if random.hides(key, "spec.template") {
					return true
				}
			}
		}
		if above == nil {
			return false
		}
		owner = metav1.GetControllerOf(above)
	}
	return false
}

// judgeTraces finds objects that still have a label, an annotation or a finalizer of Fairlead, except the annotation of
// released objects. It leaves out objects of controllers, because a controller may have copied the annotations of a
// Deployment to a ReplicaSet.
func (m *migration) judgeTraces(s step, all objects) {
	const (
		domain   = "fairlead.io"
		released = domain + "/" + marks.AnnotationReleasedBy
	)
	for _, key := range sortedIDs(all) {
		object := all[key]
		if metav1.GetControllerOf(object) != nil {
			continue
		}
		marks := slices.Clone(object.GetFinalizers())
		for name := range object.GetLabels() {
			marks = append(marks, name)
		}
		for name := range object.GetAnnotations() {
			marks = append(marks, name)
		}
		slices.Sort(marks)
		for _, mark := range marks {
			d, _, _ := strings.Cut(mark, "/")
			if mark != released && (d == domain || strings.HasSuffix(d, "."+domain)) {
				m.shortfall(s, key.String()+": "+mark+" remains")
			}
		}
	}
}

// line returns the result of a chart in one line.
func (m *migration) line() string {
	text := fmt.Sprintf("%-12s %s %s", m.verdict(), m.Chart, m.Version)
	switch {
	case m.Unusable != "":
		return text + ": " + firstLine(m.Unusable)
	case len(m.Short) > 0:
		return fmt.Sprintf("%s: %d, the first: %s", text, len(m.Short), firstLine(m.Short[0]))
	}
	return fmt.Sprintf("%s: %s kept", text, m.Installed)
}

// reportMigrations writes a table of all migrations and the shortfalls. It returns the exit code.
func reportMigrations(out io.Writer, results []migration) int {
	rows := [][]string{{"chart", "version", "objects", "pods", "claims", "kept there", "kept back", "verdict"}}
	fallen := 0
	for _, m := range results {
		row := []string{m.Chart, m.Version, "", "", "", "", "", m.verdict()}
		switch {
		case m.Unusable != "":
			row[7] += ": " + short(m.Unusable)
		default:
			row = []string{
				m.Chart, m.Version, fmt.Sprint(m.Installed.Objects), fmt.Sprint(m.Installed.Pods), fmt.Sprint(m.Installed.Claims),
				m.There.String(), m.Back.String(), m.verdict(),
			}
		}
		if len(m.Short) > 0 {
			fallen++
			row[7] += ": " + short(m.Short[0])
		}
		rows = append(rows, row)
	}
	_, _ = fmt.Fprint(out, "\nKept are the UIDs of objects, pods and claims.\n\n")
	markdown.WriteTable(out, rows)
	for _, m := range results {
		list(out, &m.judgement, "falls short", m.Short)
	}
	for _, m := range results {
		list(out, &m.judgement, "differs as documented", m.Notes)
	}
	_, _ = fmt.Fprintf(out, "\n%d charts: %d with a shortfall\n", len(results), fallen)
	return min(fallen, 1)
}
