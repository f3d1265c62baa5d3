package apply

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/changepreview"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/download"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/ownership"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/internal/plural"
	"github.com/fairlead-io/fairlead/pkg/component/result"
)

// preflight decides, by the plan of an apply, whether the component may be written. It prints what a person should know
// before.
type preflight struct {
	target cluster.Target
	// source is the place of the source, as the person gave it.
	source string
	// adopt permits the component to take over the existing objects that the plan finds.
	adopt bool
	// print prints a line of the output, tell a line of an error that consists of several lines, and warn an error after
	// which the apply continues.
	print, tell func(line string)
	warn        func(error)
}

func newPreflight(console *command.Console, target cluster.Target, source string, adopt bool) preflight {
	return preflight{
		target: target, source: source, adopt: adopt, print: console.Println, tell: console.Tell, warn: console.Warn,
	}
}

// hintAll is the end of a warning that leaves objects or fields out: the command that names them all. It does not print
// a URL with a query or a user, because they may be credentials.
func (p preflight) hintAll() string {
	source := terminal.Argument(p.source)
	if download.Name(p.source) != p.source {
		source = "URL"
	}
	return "; with the same values, inputs and flags of the spec, " + p.target.Command("plan") + " " + source +
		" names them"
}

// checkParent refuses to change a component that somebody else writes, because that one would change it back, and its
// dependents with it.
func (p preflight) checkParent(component *unstructured.Unstructured) error {
	parent := ownership.WriterOf(component)
	if parent == "" || component.GetUID() == "" {
		return nil
	}
	if p.adopt {
		p.warn(fmt.Errorf("%s is written by %s, which may change it back", p.target, parent))
		return nil
	}
	return exit.Refuse("%s is not applied: it is written by %s, which may change it back, and its dependents with it; "+
		"change it there, or apply it with --adopt, which makes a plan", p.target, parent)
}

// takesNothing are entries of spec.adopt that permit no adoption. A component without a list gets this one if the plan
// was not possible, or if it does not know all existing objects and lists none. So the operator takes over no object by
// default of which nobody was told. Entries that the component has, and objects that it released itself, are not
// affected. With --skip-plan, which waives the plan, only a component that the apply creates gets a list.
var takesNothing = []metav1alpha1.AdoptRule{}

// decide returns the entries that the apply adds to spec.adopt, or the reasons why the component is not written. err is
// the error of the plan.
func (p preflight) decide(found changepreview.Findings, err error) ([]metav1alpha1.AdoptRule, error) {
	if unplanned, ok := errors.AsType[*changepreview.UnplannedError](err); ok {
		if p.adopt {
			return nil, exit.Refuse(
				"%s is not applied: there is no plan, so --adopt would permit nothing: %w", p.target, unplanned)
		}
		p.warn(fmt.Errorf("there is no plan, so nothing is checked before the write: %w", unplanned))
		return takesNothing, nil
	}
	if err != nil {
		return nil, err
	}
	p.warnOfUnserved(found.Unserved)
	p.warnOfUnchecked(found.Unchecked)
	p.warnOfDropped(found)
	again := permittedBefore(found.Listed)
	p.listAdoptions(slices.Concat(found.Adoptions, again), p.adopt)
	p.warnOfDeletion(found.AtDeletion)
	for _, w := range found.Refused {
		object := w.Dependent
		if place := found.Places.Of(w.Dependent, w.Field); place != "" {
			object += " (" + place + ")"
		}
		p.tell(fmt.Sprintf("refused: %s: %s: %s", object, w.Reason, exit.Line(errors.New(w.Message))))
	}
	reasons := p.reasonsAgainst(found, len(again))
	if len(reasons) > 0 {
		return nil, exit.Refuse("%s is not applied, and nothing was written: %s", p.target, strings.Join(reasons, "; "))
	}
	p.listAdoptions(slices.DeleteFunc(slices.Clone(found.Listed), isPermittedBefore), true)
	if found.Unread && len(found.Adoptions) == 0 {
		return takesNothing, nil
	}
	return changepreview.Entries(found.Adoptions), nil
}

// reasonsAgainst returns the reasons why the component is not written. again is the number of the adoptions that an
// entry of spec.adopt permits and that need --adopt.
func (p preflight) reasonsAgainst(found changepreview.Findings, again int) (reasons []string) {
	if n := len(found.Adoptions) + again; n > 0 && !p.adopt {
		reasons = append(reasons, fmt.Sprintf("existing objects would be taken over (%d); rename them in the source, or add "+
			"--adopt if those who have them now may lose them", n))
	}
	if again > 0 && !p.adopt {
		reasons = append(reasons, fmt.Sprintf("spec.adopt permits some of them already (%d), so the operator takes them "+
			"over also without this apply; remove these entries if they are outdated", again))
	}
	if n := len(found.Refused); n > 0 {
		reasons = append(reasons, fmt.Sprintf("objects would be refused (%d); correct them", n))
	}
	return reasons
}

// permittedBefore returns those adoptions that need --adopt although an entry of spec.adopt permits them.
func permittedBefore(listed []result.Step) []result.Step {
	return slices.DeleteFunc(slices.Clone(listed), func(s result.Step) bool { return !isPermittedBefore(s) })
}

// isPermittedBefore reports whether an adoption needs --adopt although an entry of spec.adopt permits it. The entry is
// of an earlier apply, and the object may be another one of the same name. An entry with a cluster permits only objects
// of the component. An entry for the deletion of the component is not used before the deletion. An object that the
// component itself released needs no entry.
func isPermittedBefore(s result.Step) bool {
	return !s.Adopts.Moved && !s.Adopts.Released && s.Phase == ""
}

// warnOfDeletion warns of objects of others that the deletion of the component would have to wait for.
func (p preflight) warnOfDeletion(conflicts []result.Waiting) {
	for _, w := range conflicts[:min(len(conflicts), maxWarnings)] {
		p.warn(fmt.Errorf("the deletion of the component would wait for %s: %s", w.Dependent, w.Message))
	}
	if more := len(conflicts) - maxWarnings; more > 0 {
		p.warn(fmt.Errorf("the deletion of the component would wait for %s%s",
			plural.Of(more, "more object"), p.hintAll()))
	}
}

// listAdoptions lists the existing objects that a component would take over. If that is permitted, the list is a part
// of the output, and otherwise a part of the error.
func (p preflight) listAdoptions(steps []result.Step, permitted bool) {
	say, verb := p.tell, "would adopt "
	if permitted {
		say, verb = p.print, "adopting "
	}
	for _, s := range steps {
		lines := show.Adoption(s)
		say(verb + lines[0])
		for _, line := range lines[1:] {
			say(line)
		}
	}
}

// helmRelease matches the owner of an object of a Helm release. The names come from annotations, which everybody may
// write who may write the object, so they are printed in a command only if they are names.
var helmRelease = regexp.MustCompile(`^the Helm release ([a-z0-9-]+)/([a-z0-9.-]+)(?: |$)`)

// listRecordsToRemove says which records of Helm a person should remove after the adoptions.
func (p preflight) listRecordsToRemove(found changepreview.Findings) {
	for _, line := range recordsToRemove(slices.Concat(found.Adoptions, found.Listed)) {
		p.print(line)
	}
}

// recordsToRemove returns a line for each Helm release from which objects are taken over: how a person removes only its
// record. Helm goes by the record, and would delete or change the objects of the release also after the take-over. An
// annotation alone does not show that the record exists, or that the component contains all objects of the release, so
// the person checks this first.
func recordsToRemove(adoptions []result.Step) []string {
	var lines []string
	for _, s := range adoptions {
		if s.Adopts == nil {
			continue
		}
		if release := helmRelease.FindStringSubmatch(s.Adopts.From); release != nil {
			lines = append(lines, fmt.Sprintf("while Helm has a record of the release %[1]s/%[2]s, helm uninstall would "+
				"delete the adopted objects; helm get manifest -n %[1]s %[2]s lists the objects of the release; when the "+
				"component is ready and contains all of them, remove only the record, with the history and the values in it: "+
				"kubectl delete secret -n %[1]s -l owner=helm,name=%[2]s", release[1], release[2]))
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// maxWarnings is the number of warnings of the same kind.
const maxWarnings = 3

// warnOfUnserved warns of dependents that have to wait because nobody serves their types.
func (p preflight) warnOfUnserved(unserved []result.Waiting) {
	for _, w := range unserved[:min(len(unserved), maxWarnings)] {
		p.warn(fmt.Errorf("%s has to wait: %s", w.Dependent, w.Message))
	}
	if more := len(unserved) - maxWarnings; more > 0 {
		p.warn(fmt.Errorf("%s must wait for types that are not served%s", plural.Of(more, "more object"), p.hintAll()))
	}
}

// warnOfUnchecked warns of writes of which it is not known whether the API server accepts them.
func (p preflight) warnOfUnchecked(unchecked []changepreview.Unchecked) {
	for _, u := range unchecked[:min(len(unchecked), maxWarnings)] {
		object := u.Object
		if u.More > 0 {
			object += fmt.Sprintf(" and %d more", u.More)
		}
		p.warn(fmt.Errorf("not checked: %s: %s", object, u.Reason))
	}
	more := 0
	for _, u := range unchecked[min(len(unchecked), maxWarnings):] {
		more += 1 + u.More
	}
	if more > 0 {
		p.warn(fmt.Errorf("not checked: %s%s", plural.Of(more, "more object"), p.hintAll()))
	}
}

// warnOfDropped warns of fields that the API server drops.
func (p preflight) warnOfDropped(found changepreview.Findings) {
	if len(found.Dropped) == 0 {
		return
	}
	dropped := show.DroppedFields(found.Dropped, found.Places.Of)
	for _, d := range dropped[:min(len(dropped), maxWarnings)] {
		p.warn(fmt.Errorf("%s: the API server drops this field, because the type does not have it", d))
	}
	if more := len(dropped) - maxWarnings; more > 0 {
		p.warn(fmt.Errorf("the API server drops %s%s", plural.Of(more, "more field"), p.hintAll()))
	}
}
