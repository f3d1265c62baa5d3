package show

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/pkg/component/result"
)

// Lines returns the status as text. The lines contain no control characters except for colours.
func (s Status) Lines(o Output, now time.Time) []string {
	text := []string{o.Palette.In(terminal.Strong,
		oneLine(s.Component.kind()+" "+withNamespace(s.Component.Namespace, s.Component.Name)))}
	text = append(text, columns(o.Palette, s.facts(o.Format == FormatWide, now))...)
	if len(s.Conditions) > 0 {
		rows := [][]cell{titled("CONDITION", "STATUS", "SINCE", "REASON", "MESSAGE")}
		for _, c := range s.Conditions {
			rows = append(rows, row(c.Type, c.Status, ago(&c.Since, now), c.Reason, s.messageOf(c)))
		}
		text = append(append(text, ""), columns(o.Palette, rows)...)
	}
	if len(s.Waiting) > 0 {
		rows := [][]cell{titled("WAVE", "WAITING FOR", "REASON", "MESSAGE")}
		for _, w := range s.Waiting {
			rows = append(rows, row(w.wave(), w.Dependent, w.Reason, w.withoutCauses()))
		}
		text = append(append(text, ""), columns(o.Palette, rows)...)
	}
	text = append(text, causesTable(o.Palette, s.Waiting)...)
	text = append(text, leftOutTable(o.Palette, s.LeftOut)...)
	text = append(text, exportsTable(o.Palette, s.Exports)...)
	text = append(text, s.blocked(o.Palette)...)
	for _, b := range s.Blockers {
		if b == s.Component.Message {
			continue // It is the first sentence of the status.
		}
		text = append(text, "", o.Palette.In(terminal.Bad, "The deletion is blocked: ")+oneLine(b))
	}
	return text
}

// wave returns the wave of a dependent. It returns a dash for a dependent that waits for a dependency instead of a wave,
// and for another component.
func (w Waiting) wave() string {
	switch w.Reason {
	case result.ReportDependency, result.ReportComponentNotReady, result.ReportDependedOn:
		return "-"
	}
	return fmt.Sprint(w.Wave)
}

// messageOf returns the message of a condition. A message that is shown as the cause of the state is not repeated.
func (s Status) messageOf(c Condition) string {
	if c.Message == s.Component.Message && c.Reason == s.Component.Reason && s.showsCause() {
		return "see above"
	}
	return c.Message
}

// showsCause reports whether the facts have the cause of the state.
func (s Status) showsCause() bool {
	return s.Component.State != string(metav1alpha1.StateReady) && s.Component.Message != ""
}

// blocked returns a table of the types whose instances block a deletion.
func (s Status) blocked(p terminal.Palette) []string {
	if len(s.Blocked) == 0 {
		return nil
	}
	rows := [][]cell{titled("BLOCKED BY", "INSTANCES", "MESSAGE")}
	for _, b := range s.Blocked {
		count, message := fmt.Sprint(b.Count), strings.Join(b.Names, ", ")
		if b.Message != "" {
			count, message = "not known", b.Message
		}
		rows = append(rows, row(b.Type, count, message))
	}
	return append([]string{""}, columns(p, rows)...)
}

// withoutCauses returns the message without the causes, which have a table of their own.
func (w Waiting) withoutCauses() string {
	message := w.Message
	for _, c := range w.Causes {
		message = c.CutFrom(message)
	}
	return message
}

// causesTable returns a table of the causes why dependents are not ready.
func causesTable(p terminal.Palette, waiting []Waiting) []string {
	rows := [][]cell{titled("NOT READY", "CAUSED BY", "REASON", "MESSAGE")}
	for _, w := range waiting {
		for _, c := range w.Causes {
			rows = append(rows, row(w.Dependent, c.Object, c.Reason, c.Message))
		}
	}
	if len(rows) == 1 {
		return nil
	}
	return append([]string{""}, columns(p, rows)...)
}

// facts returns the rows of the status, each with a title and a text.
func (s Status) facts(wide bool, now time.Time) [][]cell {
	c := s.Component
	var rows [][]cell
	add := func(title string, text cell) {
		if text.text != "" {
			rows = append(rows, []cell{{text: title + ":"}, text})
		}
	}
	say := func(title, text string) { add(title, cell{text: oneLine(text)}) }
	stateText := state(c.State)
	if c.State == "" {
		stateText.text = "the operator has not reconciled it yet"
	} else if s.Since != nil && !s.Since.IsZero() {
		stateText.text += " for " + duration.HumanDuration(now.Sub(s.Since.Time))
	}
	add("State", stateText)
	if s.Operator != nil {
		add("Operator", cell{text: oneLine(strings.TrimPrefix(s.Operator.Message, "operator ")), tone: s.Operator.tone()})
	}
	if c.State != string(metav1alpha1.StateReady) {
		say("Because", explanation(c.Reason, c.Message))
	}
	say("Grant with", s.Grant)
	if c.ObservedGeneration < c.Generation {
		say("Generation", fmt.Sprintf("%d; the operator has observed %d", c.Generation, c.ObservedGeneration))
	}
	if applied := s.Applied.AppliedGeneration; applied > 0 && applied < c.Generation {
		say("Applied", fmt.Sprintf("generation %d, and not generation %d in full", applied, c.Generation))
	}
	say("Dependents", c.Dependents.Summary+" ready")
	say("Revision", s.revision(wide))
	say("Source", s.source(wide))
	if s.DeletionTimestamp != nil {
		say("Deletion", "requested "+ago(s.DeletionTimestamp, now))
	}
	if s.ProgressingSince != nil {
		say("Progressing", "for "+duration.HumanDuration(now.Sub(s.ProgressingSince.Time)))
	}
	if s.TimesOut != nil {
		say("Times out", s.TimesOut.UTC().Format(time.RFC3339))
	}
	say("Next pass", s.Next)
	if wide {
		say("Target", withNamespace(s.Target.Namespace, s.Target.Name))
		say("In cluster", s.Target.Cluster)
		say("Reconciler", s.Reconciler)
		say("Look-ups", s.Applied.LookupsDigest)
		say("UID", c.UID)
	}
	return rows
}

// shortDigest is the number of characters to which tables shorten a digest.
const shortDigest = 12

func (s Status) revision(wide bool) string {
	a := s.Applied
	text := fmt.Sprint(s.Component.Revision)
	if a.Rendition > 0 {
		text += fmt.Sprintf(", rendition %d", a.Rendition)
	}
	switch {
	case a.InputDigest == "":
		return text
	case a.InputDigest == a.AppliedDigest:
		return text + ", applied, inputs " + digest(a.InputDigest, wide)
	case a.AppliedDigest == "":
		return text + ", not applied in full yet, inputs " + digest(a.InputDigest, wide)
	}
	return text + ", not applied in full yet, inputs " + digest(a.InputDigest, wide) + "; applied last: " +
		digest(a.AppliedDigest, wide)
}

func (s Status) source(wide bool) string {
	applied := s.Applied.Source
	if s.Applied.SourceDigest != "" {
		applied += ", digest " + digest(s.Applied.SourceDigest, wide)
	}
	if s.Source == "" || s.Source == s.Applied.Source {
		return applied
	}
	if applied == "" {
		return s.Source
	}
	return s.Source + "; applied: " + applied
}

func digest(full string, wide bool) string {
	if wide || len(full) <= shortDigest {
		return full
	}
	return full[:shortDigest]
}

// next returns the time or the event at which the operator reconciles the component next, as a text.
func next(status metav1alpha1.Status, settings Settings, c Component) string {
	const change = "when something changes"
	ready := c.Reason
	switch {
	case c.State == "":
		return ""
	case status.State == metav1alpha1.StateSuspended:
		return "when it is resumed"
	case ready == metav1alpha1.ReasonForeignFinalizers:
		return "when other controllers have removed their finalizers"
	case ready == metav1alpha1.ReasonRetrying:
		return "within a minute, with back-off, and " + change
	case status.State == metav1alpha1.StateStalled, status.State == metav1alpha1.StateDeletionBlocked,
		status.State == metav1alpha1.StateDeleting:
		return every(settings.RetryInterval, "at the operator's retry interval") + ", and " + change
	case status.State == metav1alpha1.StateReady:
		return every(settings.Interval, "at the operator's interval") + ", and " + change
	}
	return change
}

func every(interval *time.Duration, unknown string) string {
	switch {
	case interval == nil:
		return unknown
	case *interval <= 0:
		return "never without a change"
	}
	return "every " + duration.HumanDuration(*interval)
}

func ago(t *metav1.Time, now time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return duration.HumanDuration(now.Sub(t.Time)) + " ago"
}

// titled returns the cells of a header row.
func titled(titles ...string) []cell {
	cells := row(titles...)
	for i := range cells {
		cells[i].tone = terminal.Strong
	}
	return cells
}

func explanation(reason, message string) string {
	switch {
	case reason == "":
		return message
	case message == "":
		return reason
	}
	return reason + ": " + message
}
