package show

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/pkg/component/result"
)

// writeAdoptions writes from whom steps take existing objects over, and which of their values get lost.
func writeAdoptions(text *strings.Builder, title string, steps []PlanStep) {
	title = "\n" + title + "\n"
	for _, s := range steps {
		if s.Adopts == nil {
			continue
		}
		text.WriteString(title)
		title = ""
		object := withGroup(s.Kind, s.Group) + " " + withNamespace(s.Namespace, s.Name)
		for _, line := range s.Adopts.lines(object, s.Phase) {
			text.WriteString("  " + line + "\n")
		}
	}
}

// writeObstacles writes the instances and finalizers that block the plan, and the dependents that delay it.
func (p Plan) writeObstacles(text *strings.Builder, colours terminal.Palette) {
	for _, b := range p.Blocked {
		reason := fmt.Sprintf("there are foreign instances (%d): %s", b.Count, strings.Join(b.Names, ", "))
		if b.Error != "" {
			reason = b.Error
		}
		fmt.Fprintf(text, "\n%s %s\n", colours.In(terminal.Bad, "Blocked by "+b.Type+":"), oneLine(reason))
	}
	if len(p.Finalizers) > 0 {
		title := colours.In(
			terminal.Bad,
			"No dependent is deleted before these finalizers of other controllers are removed:",
		)
		fmt.Fprintf(text, "\n%s %s\n", title, oneLine(strings.Join(p.Finalizers, ", ")))
	}
	writeWaiting(text, p.waiting(func(w PlanWaiting) bool { return w.Failed }), colours.In(terminal.Bad,
		"Correct these problems; the steps marked as blocked wait for the correction:"))
	writeWaiting(text, p.waiting(func(w PlanWaiting) bool { return !w.Failed }),
		colours.In(terminal.Busy, "The component waits for:"))
	writeWaiting(text, p.ConflictsAtDeletion, colours.In(terminal.Busy, "The deletion of the component would wait for:"))
	writeWaiting(text, p.UnreadAtDeletion, colours.In(terminal.Busy,
		"Not read; it is not known whether these objects of the deletion exist already:"))
	for i, d := range p.Dropped {
		if i == 0 {
			title := "The API server drops these fields, because the types do not have them; correct or remove them:"
			text.WriteString("\n" + colours.In(terminal.Busy, title) + "\n")
		}
		text.WriteString("  " + terminal.Clean(d.String()) + "\n")
	}
	for i, n := range p.NotAsked {
		if i == 0 {
			title := "Not asked; it is not known whether these values have changed:"
			text.WriteString("\n" + colours.In(terminal.Busy, title) + "\n")
		}
		fmt.Fprintf(text, "  %s: %s\n", terminal.Clean(n.Dependent), oneLine(n.Message))
	}
	for i, ignored := range p.Ignored {
		if i == 0 {
			text.WriteString("\n")
		}
		text.WriteString(terminal.Clean(ignored.String()) + "\n")
	}
	text.WriteString(lines(leftOutTable(colours, p.LeftOut)))
}

// waiting returns the dependents that delay the component and that match.
func (p Plan) waiting(matches func(PlanWaiting) bool) []PlanWaiting {
	return slices.DeleteFunc(slices.Clone(p.Waiting), func(w PlanWaiting) bool { return !matches(w) })
}

func writeWaiting(text *strings.Builder, waiting []PlanWaiting, title string) {
	for i, w := range waiting {
		if i == 0 {
			fmt.Fprintf(text, "\n%s\n", title)
		}
		var places []string
		if w.Place != "" {
			places = append(places, terminal.Clean(w.Place))
		}
		if w.Reason != result.ReportDependency {
			places = append(places, fmt.Sprintf("wave %d", w.Wave))
		}
		at := ""
		if len(places) > 0 {
			at = " (" + strings.Join(places, ", ") + ")"
		}
		fmt.Fprintf(text, "  %s%s: %s\n", terminal.Clean(w.Dependent), at,
			strings.TrimSuffix(w.Reason+": "+oneLine(w.Message), ": "))
	}
}
