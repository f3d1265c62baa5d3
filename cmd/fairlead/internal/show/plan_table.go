package show

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/deletionrights"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/pkg/component/result"
)

// Print writes the plan.
func (p Plan) Print(o Output) error {
	if o.Structured() {
		return o.write(p)
	}
	if _, err := io.WriteString(o, p.headline()+"\n"); err != nil {
		return err
	}
	if len(p.Steps) > 0 {
		if _, err := io.WriteString(o, "\n"); err != nil {
			return err
		}
		titles, rows := p.rows()
		if err := table(o, titles, rows); err != nil {
			return err
		}
	}
	var text strings.Builder
	writeAdoptions(&text, o.Palette.In(terminal.Busy, "Taken over:"), slices.Concat(p.Steps, p.AtDeletion))
	p.writeObstacles(&text, o.Palette)
	writeAdoptions(&text, o.Palette.In(terminal.Busy, "Taken over, if spec.adopt permits it:"), p.Permissible)
	if p.Component.Delete && p.Counts["delete"] > 0 {
		text.WriteString(
			"\nkubectl delete --cascade=orphan deletes these objects too; only a delete policy keeps an object.\n")
	}
	writeReaders(&text, o.Palette, p.Readers)
	if _, err := io.WriteString(o, text.String()); err != nil {
		return err
	}
	if err := p.printRights(o); err != nil {
		return err
	}
	_, err := io.WriteString(o, "\n"+p.summary()+"\n")
	return err
}

// printRights writes the table of missing rights.
func (p Plan) printRights(o Output) error {
	if len(p.MissingRights) == 0 {
		return nil
	}
	title := o.Palette.In(terminal.Bad, "Grant these rights; the deletion needs them:")
	if _, err := io.WriteString(o, "\n"+title+"\n"); err != nil {
		return err
	}
	return Rights(o, p.MissingRights)
}

// Rights writes a table of missing rights.
func Rights(o Output, missing []deletionrights.Missing) error {
	var rows [][]cell
	for _, m := range missing {
		rows = append(rows, row(m.Verb, m.On(), m.Why, m.User))
	}
	return table(o, []string{"RIGHT", "ON", "WHY", "USER"}, rows)
}

func (p Plan) headline() string {
	c := p.Component
	name := fmt.Sprintf("%s %s", withGroup(c.Kind, schema.FromAPIVersionAndKind(c.APIVersion, c.Kind).Group),
		withNamespace(c.Namespace, c.Name))
	switch {
	case c.Delete:
		name += ": its deletion"
	case c.NewRevision:
		name += fmt.Sprintf(": revision %d (new)", c.Revision)
	default:
		name += fmt.Sprintf(": revision %d", c.Revision)
	}
	if c.Suspended {
		name += "\nThe component is suspended: the operator takes no step until the component is resumed."
	}
	return name
}

// rows returns the titles and the rows of the table of steps.
func (p Plan) rows() (titles []string, rows [][]cell) {
	titles = []string{"TURN", "WAVE", "ACTION", "KIND", "NAME"}
	graph := slices.ContainsFunc(p.Steps, func(s PlanStep) bool { return len(s.DependsOn) > 0 })
	if graph {
		titles = append(titles, titleDependsOn)
	}
	for _, s := range p.Steps {
		cells := append(row(fmt.Sprint(s.Turn), waveOf(s.Wave, s.DependsOn)),
			cell{text: s.Action, tone: toneOfAction[s.Action]})
		cells = append(cells, row(withGroup(s.Kind, s.Group), withNamespace(s.Namespace, s.Name))...)
		if graph {
			cells = append(cells, row(orDash(strings.Join(s.DependsOn, ", ")))...)
		}
		rows = append(rows, append(cells, row(s.explanation())...))
	}
	return append(titles, "WHY"), rows
}

// toneOfAction contains the colours of important actions.
var toneOfAction = map[string]terminal.Tone{
	actionOf(result.EffectCreate): terminal.Good, actionOf(result.EffectUpdate): terminal.Busy,
	actionOf(result.EffectAdopt):    terminal.Busy,
	actionOf(result.EffectRecreate): terminal.Bad, actionOf(result.EffectPrune): terminal.Bad,
	actionOf(result.EffectPurge):  terminal.Bad,
	actionOf(result.EffectDelete): terminal.Bad, actionOf(result.EffectRelease): terminal.Busy,
}

// maxFields is the maximum number of changed fields that a row of the table names.
const maxFields = 4

func (s PlanStep) explanation() string {
	why := s.Reason
	if s.Phase != "" {
		why += " (" + s.Phase + ")"
	}
	if n := len(s.Fields); n > 0 {
		why += ": " + strings.Join(s.Fields[:min(n, maxFields)], ", ")
		if n > maxFields {
			why += fmt.Sprintf(" and %d more", n-maxFields)
		}
	}
	if s.Adopts != nil && s.Adopts.Note != "" {
		why += "; " + s.Adopts.Note
	}
	if s.Held {
		why += "; blocked"
	}
	if s.Unchecked != "" {
		why += "; not checked: " + oneLine(s.Unchecked)
	}
	return why
}

// IsHindered reports whether a step cannot be made before a person, or another controller, acts.
func (p Plan) IsHindered() bool {
	return len(p.Blocked) > 0 || len(p.Finalizers) > 0 || len(p.MissingRights) > 0 ||
		slices.ContainsFunc(p.Waiting, func(w PlanWaiting) bool { return w.Failed })
}

// summary counts the steps by effect.
func (p Plan) summary() string {
	var counts []string
	for _, e := range effects {
		if n := p.Counts[actionOf(e)]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d to %s", n, actionOf(e)))
		}
	}
	switch {
	case len(counts) > 0:
	case p.IsHindered():
		counts = append(counts, "no step is possible before these problems are corrected")
	default:
		counts = append(counts, "nothing to do")
	}
	if n := p.Counts[unchanged]; n > 0 {
		counts = append(counts, fmt.Sprintf("%d unchanged", n))
	}
	return strings.Join(counts, ", ") + "."
}
