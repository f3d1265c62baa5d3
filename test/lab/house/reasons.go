package main

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/test/lab/markdown"
)

// The measures whose places need a reason if they are above the goal.
const (
	methodsMeasure  = "methods on one type, with those of embedded types"
	fieldsMeasure   = "fields of a struct that is not API or plain data"
	filesMeasure    = "files in the largest package of pkg/"
	linesMeasure    = "lines in the largest package of pkg/"
	fileMeasure     = "lines of the longest file"
	functionMeasure = "longest function"
)

// reason says why a place stays above the goal of a measure.
type reason struct {
	measure string
	// place is the package, the file, the function or the type, such as plan.Plan.
	place string
	why   string
}

// reasons are those of the product code. A place without a reason is to be split. A place that is not above the goal
// any more must be removed here; a test with the flag -checkout, and the output of the command, say so.
var reasons = []reason{
	{
		methodsMeasure, "reconcile.Runner",
		"it embeds Pass, because it makes the steps of a pass and reports them; its own methods are the steps of the report",
	},
	{
		methodsMeasure, "reconcile.Pass",
		"each method is a step of a pass on the same ports; the steps hand each other results, and the pass keeps no state",
	},
	{
		methodsMeasure, "plan.Plan",
		"a plan is one list of actions, waits and entries, to which each rule of the table adds; a part of a plan is no plan",
	},
	{
		methodsMeasure, "plan.candidate",
		"it is a value with the facts about one object; each method is one question of the rules, without a side effect",
	},
	{
		methodsMeasure, "preview.simulation",
		"it carries out the actions of plans on one simulated state; a method is one kind of action or one part of the state",
	},
	{
		methodsMeasure, "components.Store",
		"passes and authors write the same component, with the same repetition after conflicts and the same last write",
	},
	{
		methodsMeasure, "component.Reconciler",
		"it is the public type of an operator: what authors call is a method of it",
	},
	{
		methodsMeasure, "applier.Applier",
		"the verbs of passes and previews are methods on the same state between passes",
	},
	{
		methodsMeasure, "scaffold.facts",
		"the templates of a project call its methods and those of Options, which it embeds",
	},
	{
		methodsMeasure, "scaffold.Options",
		"the templates of a project call half of its methods; the others check one group of options each",
	},
	{
		methodsMeasure, "apiservertest.Server",
		"it is a fake for tests, and a method is one state of the API server that a test sets or reads",
	},
	{
		methodsMeasure, "componenttest.run",
		"it is one test run of an author, and a method is one step or one check that all kinds of tests share",
	},
	{
		methodsMeasure, "componenttest.Things",
		"it embeds the fake cloud, whose methods tests call; its own are those of the interface external.Kind",
	},
	{
		methodsMeasure, "componenttest.FindableThings",
		"it is Things with the optional interfaces Finder and Tagged",
	},
	{
		methodsMeasure, "componenttest.ListedThings",
		"it is Things with the optional interface Lister",
	},
	{
		methodsMeasure, "componenttest.NamedThings",
		"it is Things with the optional interface Identifier",
	},
	{
		methodsMeasure, "componenttest.RepeatableThings",
		"it is Things whose create may be repeated",
	},
	{
		methodsMeasure, "externaltest.subject",
		"each method is one check of a driver, or one call of it, on the same external",
	},
	{
		methodsMeasure, "execute.writer",
		"each method is one verb of a plan, or one request of a verb, with the same clients and the same field manager",
	},
	{
		methodsMeasure, "execute.Executor",
		"each verb of a caller is a method: it limits, retries and explains the requests of the writer that it has",
	},
	{
		methodsMeasure, "engine.Standalone",
		"it is the public type of an engine: what authors call is a method of it",
	},
	{
		methodsMeasure, "observe.Observer",
		"one lock protects watches, their users and handovers, because an event changes all three together",
	},
	{
		methodsMeasure, "rendering.Renderer",
		"each method is one step of a rendering, or one way around it: cache, record, turn, generator",
	},
	{
		methodsMeasure, "deletion.options",
		"it embeds the console, whose methods all commands call; its own are the steps of one command",
	},
	{
		methodsMeasure, "polled.Mailbox",
		"it implements the interfaces of an event source, and embeds the part that all of them share",
	},
	{
		fieldsMeasure, "plan.Facts",
		"a plan gets values only, so that each fact that a rule reads is a field",
	},
	{
		fieldsMeasure, "plan.Observed",
		"it has the facts about one live object, which the rules read, as plain values",
	},
	{
		fieldsMeasure, "plan.candidate",
		"it joins manifest, entry, live object and result of one object, so that a rule has one parameter",
	},
	{
		fieldsMeasure, "plan.Plan",
		"it is the result of a planner, and the outcome of a pass reads each field",
	},
	{
		fieldsMeasure, "plan.Action",
		"it is the whole order to the writer: a request is made of it without a look at the plan",
	},
	{
		fieldsMeasure, "applier.Request",
		"it is all that a verb needs, made by one function for each verb and not changed afterwards",
	},
	{
		fieldsMeasure, "preview.simulation",
		"it has the simulated state of all objects, which the plans of one preview share",
	},
	{
		fieldsMeasure, "reconcile.State",
		"it is all that the process keeps for a component, so that one place forgets it",
	},
	{
		fieldsMeasure, "component.Reconciler",
		"it connects the parts that one builder makes, and has no state besides",
	},
	{
		fieldsMeasure, "valuetypes.schema",
		"it has one field for each keyword of JSON schema that types are derived from",
	},
	{
		fieldsMeasure, "main.options",
		"it has one field for each flag of the program, or group of flags",
	},
	{
		fieldsMeasure, "operator.Options",
		"it has one field for each setting of the ready-made operator, and each flag sets one",
	},
	{
		fieldsMeasure, "related.Options",
		"it has one field for each option with which an author relates objects, checked once at the start",
	},
	{
		fieldsMeasure, "isolate.job",
		"it is the whole message to a child that renders, because the child knows nothing else",
	},
	{
		fieldsMeasure, "show.Why",
		"it is the output of a command: each field is a line of its text, and a field of its JSON",
	},
	{
		fieldsMeasure, "show.Status",
		"it is the output of a command: each field is a line of its text, and a field of its JSON",
	},
	{
		fieldsMeasure, "show.Plan",
		"it is the output of a command: each field is a part of its text, and a field of its JSON",
	},
	{
		fieldsMeasure, "show.Component",
		"it is the part of the output that all commands about a component share, a field for each field",
	},
	{
		fieldsMeasure, "componenttest.Injector",
		"one lock protects the faults that tests set, and the counts of the requests that met them",
	},
	{
		fieldsMeasure, "render.Request",
		"it is all that a rendering on the command line needs: a field for each flag, and the identity",
	},
	{
		fieldsMeasure, "rendering.Request",
		"it is all that a rendering needs, made by one function and not changed afterwards",
	},
	{
		fieldsMeasure, "scaffold.Options",
		"it has one field for each flag of the command init, and templates read them",
	},
	{
		filesMeasure, "pkg/component/internal/plan",
		"the rules of a plan read the same facts; a file contains one topic of the table of rules",
	},
	{
		filesMeasure, "pkg/component/internal/reconcile",
		"a pass is one sequence of steps; a file contains one step or one part of the state between passes",
	},
	{
		filesMeasure, "pkg/component/internal/applier",
		"a file contains one kind of facts that the applier collects for the plan, or one check before the first write",
	},
	{
		filesMeasure, "pkg/generator/internal/templating",
		"a file contains one family of template functions",
	},
	{
		filesMeasure, "pkg/component",
		"a file contains one topic that authors look up, such as hooks, limits or readiness, or one part of the wiring",
	},
	{
		filesMeasure, "pkg/component/internal/execute",
		"a file contains one verb, or one case in which an API server needs another request",
	},
	{
		filesMeasure, "pkg/component/internal/externals",
		"a file contains one step of a call outside Kubernetes, or one value of an external",
	},
	{
		filesMeasure, "pkg/component/internal/inspect",
		"a file contains one kind of facts about a live object",
	},
	{
		linesMeasure, "pkg/component/internal/plan",
		"the rules of a plan read the same facts, and a part of them could not be understood without the others",
	},
	{
		linesMeasure, "pkg/component/internal/reconcile",
		"a pass is one sequence of steps on the same ports",
	},
	{
		linesMeasure, "pkg/component/internal/externals",
		"a call, its record and its result are one protocol, and the crash points are between them",
	},
	{
		linesMeasure, "pkg/component/internal/execute",
		"each case of a refusal repeats the request of a verb, with the same clients and the same field manager",
	},
	{
		linesMeasure, "pkg/generator/internal/templating",
		"it has all functions that templates call, as one set with one session of a rendering",
	},
	{
		linesMeasure, "pkg/component/external",
		"the contract of drivers, its typed form for authors and its form over HTTP share their types and limits",
	},
}

// isProduct reports whether a place is in the code of the product, and not in tests, examples or the laboratory.
func isProduct(where string) bool {
	path := where
	if _, file, found := strings.Cut(where, ", "); found {
		path = file
	}
	folder, _, _ := strings.Cut(path, "/")
	return slices.Contains([]string{"api", "pkg", "internal", "cmd"}, folder)
}

var lineOfPlace = regexp.MustCompile(`:\d+$`)

// nameOfPlace returns the name of a place in a reason.
func nameOfPlace(where string) string {
	name, _, _ := strings.Cut(where, ", ")
	return lineOfPlace.ReplaceAllString(name, "")
}

// above returns the places of the product code that are above the goal of a measure, the worst first.
func (m measure) above() []place {
	if m.limit == 0 {
		return nil
	}
	return slices.DeleteFunc(m.worst(), func(p place) bool { return p.value <= m.limit || !isProduct(p.where) })
}

// reasonFor returns the reason for which a place stays above the goal of a measure, and an empty text if there is none.
func reasonFor(all []reason, m measure, p place) string {
	i := slices.IndexFunc(all, func(r reason) bool { return r.measure == m.name && r.place == nameOfPlace(p.where) })
	if i < 0 {
		return ""
	}
	return all[i].why
}

// unneeded returns the reasons whose places are not above the goal of their measure.
func unneeded(all []reason, measures []measure) []reason {
	return slices.DeleteFunc(slices.Clone(all), func(r reason) bool {
		return slices.ContainsFunc(measures, func(m measure) bool {
			return m.name == r.measure && slices.ContainsFunc(m.above(), func(p place) bool {
				return nameOfPlace(p.where) == r.place
			})
		})
	})
}

// writeReasons prints all places of the product code that are above a goal, with their reasons. Those without a reason
// are printed first, after the reasons that are not needed any more.
func writeReasons(out io.Writer, measures []measure, all []reason) {
	if found := unneeded(all, measures); len(found) > 0 {
		_, _ = fmt.Fprintln(out)
		for _, r := range found {
			_, _ = fmt.Fprintf(out, "%s is not above the goal of %q any more: remove its reason\n", r.place, r.measure)
		}
	}
	var rows [][]string
	for _, m := range measures {
		for _, p := range m.above() {
			rows = append(rows, []string{nameOfPlace(p.where), m.name, fmt.Sprint(p.value), m.goal, reasonFor(all, m, p)})
		}
	}
	slices.SortStableFunc(rows, func(a, b []string) int { return cmp.Compare(min(1, len(a[4])), min(1, len(b[4]))) })
	if len(rows) == 0 {
		return
	}
	_, _ = fmt.Fprintln(out)
	markdown.WriteTable(out, append([][]string{{"above a goal", "measure", "value", "goal", "reason"}}, rows...))
}
