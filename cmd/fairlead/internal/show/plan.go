package show

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/changes"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/readers"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/rights"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/component/tree"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Plan has the writes that an operator would make for a component.
type Plan struct {
	APIVersion string        `json:"apiVersion"`
	Kind       string        `json:"kind"`
	Component  PlanOf        `json:"component"`
	Steps      []PlanStep    `json:"steps"`
	Waiting    []PlanWaiting `json:"waiting"`
	Blocked    []PlanBlocked `json:"blocked"`
	// Ignored are the fields of dependents that are left to others.
	Ignored []PlanIgnored `json:"ignored,omitempty"`
	// Dropped are the fields that the API server drops without an error, because the types do not have them.
	Dropped []PlanDropped `json:"dropped,omitempty"`
	// LeftOut are the first ten objects that are not applied, because their conditions are false.
	LeftOut []LeftOut `json:"leftOut,omitempty"`
	// NotAsked are the dependents that bind values of dependents outside Kubernetes, which are not known.
	NotAsked   []PlanNotAsked `json:"notAsked,omitempty"`
	Finalizers []string       `json:"finalizers,omitempty"`
	// MissingRights are rights that a deletion needs, and that the identity lacks that makes its requests.
	MissingRights []rights.Missing `json:"missingRights,omitempty"`
	// Readers are the components that read from a component which would be deleted.
	Readers []readers.Reader `json:"readers,omitempty"`
	Counts  map[string]int   `json:"counts"`
	// AtDeletion are the steps of the deletion of the component that take over objects which exist now.
	AtDeletion []PlanStep `json:"atDeletion,omitempty"`
	// ConflictsAtDeletion are the objects that exist now and that the deletion of the component would have to wait for,
	// and UnreadAtDeletion the objects of its phases of which it is not known whether they exist.
	ConflictsAtDeletion []PlanWaiting `json:"conflictsAtDeletion,omitempty"`
	UnreadAtDeletion    []PlanWaiting `json:"unreadAtDeletion,omitempty"`
	// Permissible are the take-overs that entries in spec.adopt would permit, of objects that the component waits for now.
	Permissible []PlanStep `json:"permissible,omitempty"`
}

// PlanOf is the component of a plan.
type PlanOf struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	// Delete reports whether the plan is the plan of the component's deletion.
	Delete bool `json:"delete"`
	// Revision is the revision that would be applied. NewRevision reports whether Revision differs from the last
	// applied revision.
	Revision    int64 `json:"revision"`
	NewRevision bool  `json:"newRevision"`
	// Suspended reports whether the component is suspended, so that the operator makes no writes until it is resumed.
	Suspended bool `json:"suspended"`
}

// PlanStep is one write. Steps of the same turn run at the same time.
type PlanStep struct {
	Turn  int    `json:"turn"`
	Wave  int    `json:"wave"`
	Phase string `json:"phase,omitempty"`
	// Action is one word in lower case, such as create or prune.
	Action    string `json:"action"`
	Group     string `json:"group"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Reason    string `json:"reason"`
	// DependsOn are the objects and groups that the dependent depends on. If there are any, it belongs to no wave.
	DependsOn []string `json:"dependsOn,omitempty"`
	// Fields are the paths that an update changes.
	Fields []string `json:"fields,omitempty"`
	// Adopts is set if the step takes over an existing object.
	Adopts *PlanAdoption `json:"adopts,omitempty"`
	// Held reports whether a failure must be corrected before the operator makes the write.
	Held bool `json:"held,omitempty"`
	// Unchecked is the reason why the preview made no dry run of the write. It is empty if a dry run was made.
	Unchecked string `json:"unchecked,omitempty"`
}

// PlanWaiting is a dependent that would delay the component.
type PlanWaiting struct {
	Dependent string `json:"dependent"`
	Wave      int32  `json:"wave"`
	Reason    string `json:"reason"`
	Message   string `json:"message,omitempty"`
	// Failed reports whether the dependent failed, so that a person must act. Until then, later waves are not applied.
	Failed bool `json:"failed"`
	// Place is the source file of a dependent that the API server would refuse, with a line if it is known.
	Place string `json:"place,omitempty"`
}

// PlanNotAsked is a dependent that binds values of dependents outside Kubernetes. Message names the exports.
type PlanNotAsked struct {
	Dependent string `json:"dependent"`
	Message   string `json:"message"`
}

// PlanDropped is a field that the API server drops without an error. Place is its source file, if that is known.
type PlanDropped struct {
	Dependent string `json:"dependent"`
	Field     string `json:"field"`
	Place     string `json:"place,omitempty"`
}

// String returns the object, the place and the field.
func (d PlanDropped) String() string { return withPlace(d.Dependent, d.Place) + ": " + d.Field }

// DroppedFields returns dropped fields with their places. The function of returns the source file of a dependent, and
// empty if it is not known.
func DroppedFields(fields []result.DroppedField, of func(dependent, field string) string) []PlanDropped {
	var dropped []PlanDropped
	for _, d := range fields {
		object := d.Key.String()
		dropped = append(dropped, PlanDropped{Dependent: object, Field: d.Field, Place: of(object, d.Field)})
	}
	return dropped
}

// withPlace adds the source file to the text of an object, if it is known.
func withPlace(object, place string) string {
	if place == "" {
		return object
	}
	return object + " (" + place + ")"
}

// PlanIgnored is a path to fields of a dependent that are left to others.
type PlanIgnored struct {
	Dependent string `json:"dependent"`
	Path      string `json:"path"`
	// By is where the rule was written: annotation, option or spec.
	By string `json:"by"`
}

// String returns the field and the place of the rule as texts show them.
func (i PlanIgnored) String() string {
	return fmt.Sprintf("%s: %s is ignored, by the %s", i.Dependent, i.Path, IgnoredBy(manifests.IgnoreSource(i.By)))
}

// IgnoredBy describes the place where a rule of ignored fields was written.
func IgnoredBy(source manifests.IgnoreSource) string {
	switch source {
	case manifests.IgnoredByAnnotation:
		return "annotation " + manifests.AnnotationIgnore
	case manifests.IgnoredByOption:
		return "option of the operator"
	case manifests.IgnoredBySpec:
		return "spec of the component"
	}
	return string(source)
}

// IgnoredFields returns the ignored fields of a forecast.
func IgnoredFields(f result.Forecast) []PlanIgnored {
	var ignored []PlanIgnored
	for _, i := range f.Ignored {
		ignored = append(ignored, PlanIgnored{Dependent: i.Key.String(), Path: i.Path, By: string(i.Source)})
	}
	return ignored
}

// PlanBlocked is a type that is not deleted as long as instances exist that are not dependents of the component.
type PlanBlocked struct {
	Type  string   `json:"type"`
	Count int      `json:"count"`
	Names []string `json:"names,omitempty"`
	Error string   `json:"error,omitempty"`
}

// unchanged is the key in Plan.Counts of the number of dependents without a write.
const unchanged = "unchanged"

// effects are the kinds of writes, in the order in which the summary lists their numbers.
var effects = []result.Effect{
	result.EffectCreate,
	result.EffectUpdate,
	result.EffectAdopt,
	result.EffectRecreate,
	result.EffectPurge,
	result.EffectPrune,
	result.EffectDelete,
	result.EffectRelease,
}

func actionOf(e result.Effect) string { return strings.ToLower(string(e)) }

// Locate adds the source files of those dependents to the plan that the API server would refuse, and the fields that it
// drops. The function of returns the file of a dependent, and empty if it is not known.
func (p *Plan) Locate(f result.Forecast, of func(dependent, field string) string) {
	p.Dropped = DroppedFields(f.Dropped, of)
	for i, w := range f.Waiting {
		if w.Refused {
			p.Waiting[i].Place = of(w.Dependent, w.Field)
		}
	}
}

// AddPermissible adds the take-overs that entries in spec.adopt would permit.
func (p *Plan) AddPermissible(steps []result.Step) {
	for _, s := range steps {
		p.Permissible = append(p.Permissible, planStep(s))
	}
}

// NewPlan converts a forecast into a plan.
func NewPlan(obj *unstructured.Unstructured, f result.Forecast, deletion bool) Plan {
	p := Plan{
		APIVersion: SchemaVersion, Kind: "Plan",
		Component: PlanOf{
			APIVersion: obj.GetAPIVersion(), Kind: obj.GetKind(), Namespace: obj.GetNamespace(), Name: obj.GetName(),
			Delete: deletion, Revision: f.Revision, NewRevision: f.NewRevision, Suspended: f.Suspended,
		},
		Steps: make([]PlanStep, 0, len(f.Steps)), Waiting: []PlanWaiting{}, Blocked: []PlanBlocked{},
		Finalizers: f.Finalizers, Ignored: IgnoredFields(f), LeftOut: leftOutOf(f.LeftOut),
		Counts: map[string]int{unchanged: f.Unchanged},
	}
	for _, s := range f.Steps {
		step := planStep(s)
		p.Steps = append(p.Steps, step)
		p.Counts[step.Action]++
	}
	for _, s := range f.AtDeletion.Adoptions {
		p.AtDeletion = append(p.AtDeletion, planStep(s))
	}
	p.Waiting = append(p.Waiting, planWaiting(f.Waiting)...)
	p.ConflictsAtDeletion = planWaiting(f.AtDeletion.Conflicts)
	p.UnreadAtDeletion = planWaiting(f.AtDeletion.Unread)
	for _, n := range f.NotAsked {
		p.NotAsked = append(p.NotAsked, PlanNotAsked{Dependent: n.Key.String(), Message: n.Message})
	}
	for _, b := range f.Blocked {
		p.Blocked = append(p.Blocked, PlanBlocked{Type: b.Type, Count: b.Count, Names: b.Names, Error: b.Error})
	}
	return p
}

func planStep(s result.Step) PlanStep {
	step := PlanStep{
		DependsOn: s.DependsOn,
		Turn:      s.Turn,
		Wave:      s.Wave,
		Phase:     string(s.Phase),
		Action:    actionOf(s.Effect),
		Group:     s.Key.Group,
		Kind:      s.Key.Kind,
		Namespace: s.Key.Namespace,
		Name:      s.Key.Name,
		Reason:    s.Reason,
		Adopts:    adoptionOf(s),
		Held:      s.Held,
		Unchecked: s.Unchecked,
	}
	if s.Unchecked == "" {
		step.Fields = changes.Fields(changes.Clean(Before(s)), changes.Clean(s.After))
	}
	return step
}

func planWaiting(waiting []result.Waiting) (shown []PlanWaiting) {
	for _, w := range waiting {
		shown = append(shown, PlanWaiting{
			Dependent: w.Dependent, Wave: w.Wave, Reason: w.Reason, Message: w.Message,
			Failed: w.Failed || w.Reason == tree.ReasonNotServed,
		})
	}
	return shown
}

// Before returns the object before a step. For an object that is recreated, it returns only the fields that have a
// field manager, because these are lost. Other fields are defaults, which the API server sets again.
func Before(s result.Step) *unstructured.Unstructured {
	if s.Effect != result.EffectRecreate {
		return s.Before
	}
	if managed := changes.Managed(s.Before); managed != nil {
		return managed
	}
	return s.Before
}

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
		text.WriteString("\nkubectl delete --cascade=orphan deletes these objects too; only a delete policy keeps an object.\n")
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
func Rights(o Output, missing []rights.Missing) error {
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

// toneOfAction has the colours of important actions.
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
