package cli

import (
	"errors"
	"fmt"
	"strings"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/preview"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/pkg/component"
)

// judge decides whether a component may be written, and which objects it may take over. It prints what a person should
// know before.
func (a *app) judge(
	target cluster.Target, found preview.Findings, err error, adopt bool,
) ([]metav1alpha1.AdoptRule, error) {
	if unplanned, ok := errors.AsType[*preview.UnplannedError](err); ok {
		if adopt {
			return nil, exit.Refuse("%s is not applied: there is no plan, so --adopt would permit nothing: %w", target, unplanned)
		}
		a.warn(fmt.Errorf("there is no plan, so nothing is checked before the write: %w", unplanned))
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	a.warnOfUnserved(found.Unserved)
	a.warnOfUnchecked(found.Unchecked)
	a.listAdoptions(found.Adoptions, adopt)
	for _, w := range found.Refused {
		a.tell(fmt.Sprintf("refused: %s: %s: %s", w.Dependent, w.Reason, exit.Line(errors.New(w.Message))))
	}
	var reasons []string
	if n := len(found.Adoptions); n > 0 && !adopt {
		reasons = append(reasons, fmt.Sprintf("existing objects would be taken over (%d); rename them in the source, or add "+
			"--adopt if those who have them now may lose them", n))
	}
	if n := len(found.Refused); n > 0 {
		reasons = append(reasons, fmt.Sprintf("objects would be refused (%d); correct them", n))
	}
	if len(reasons) > 0 {
		return nil, exit.Refuse("%s is not applied, and nothing was written: %s", target, strings.Join(reasons, "; "))
	}
	a.listAdoptions(found.Listed, true)
	return preview.Entries(found.Adoptions), nil
}

// listAdoptions lists the existing objects that a component would take over. If that is permitted, the list is a part
// of the output, and otherwise a part of the error.
func (a *app) listAdoptions(steps []component.Step, permitted bool) {
	say, verb := a.tell, "would adopt "
	if permitted {
		say, verb = a.println, "adopting "
	}
	for _, s := range steps {
		lines := show.Adoption(s)
		say(verb + lines[0])
		for _, line := range lines[1:] {
			say(line)
		}
	}
}

// tell prints a part of an error that has several lines.
func (a *app) tell(line string) { _, _ = fmt.Fprintln(a.ErrOut, terminal.Clean(line)) }

// maxWarnings is the number of warnings of the same kind.
const maxWarnings = 3

// warnOfUnserved warns of dependents that have to wait because nobody serves their types.
func (a *app) warnOfUnserved(unserved []component.Waiting) {
	for _, w := range unserved[:min(len(unserved), maxWarnings)] {
		a.warn(fmt.Errorf("%s has to wait: %s", w.Dependent, w.Message))
	}
	if more := len(unserved) - maxWarnings; more > 0 {
		a.warn(fmt.Errorf("%d more objects have to wait for types that are not served", more))
	}
}

// warnOfUnchecked warns of writes of which it is not known whether the API server accepts them.
func (a *app) warnOfUnchecked(unchecked []preview.Unchecked) {
	for _, u := range unchecked[:min(len(unchecked), maxWarnings)] {
		object := u.Object
		if u.More > 0 {
			object += fmt.Sprintf(" and %d more", u.More)
		}
		a.warn(fmt.Errorf("not checked: %s: %s", object, u.Reason))
	}
	more := 0
	for _, u := range unchecked[min(len(unchecked), maxWarnings):] {
		more += 1 + u.More
	}
	if more > 0 {
		a.warn(fmt.Errorf("not checked: %d more objects; fairlead plan names them", more))
	}
}
