package show

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/internal/plural"
	"github.com/fairlead-io/fairlead/pkg/component/result"
)

// PlanAdoption says from whom a step takes an existing object over, and which of its values get lost. LostUnknown is
// the reason why these values are not known. It is empty if they are known.
type PlanAdoption struct {
	UID         types.UID  `json:"uid,omitempty"`
	From        string     `json:"from"`
	Lost        []PlanLost `json:"lost,omitempty"`
	LostUnknown string     `json:"lostUnknown,omitempty"`
	// Deleted reports whether a later step deletes the object, with all its values.
	Deleted bool `json:"deleted,omitempty"`
	// Note is what a user has to know besides, such as that a Job is complete already, so that it does not run again.
	Note string `json:"note,omitempty"`
}

// PlanLost is a value that a take-over removes or changes. Before and After are JSON. After is empty for a value that
// is removed. Both are empty if the value is withheld, because the object is a Secret.
type PlanLost struct {
	Path     string `json:"path"`
	Before   string `json:"before,omitempty"`
	After    string `json:"after,omitempty"`
	Withheld bool   `json:"withheld,omitempty"`
}

func adoptionOf(s result.Step) *PlanAdoption {
	if s.Adopts == nil {
		return nil
	}
	adoption := &PlanAdoption{
		UID: s.Adopts.UID, From: s.Adopts.From, LostUnknown: s.Adopts.Unknown, Deleted: s.Adopts.Deleted,
		Note: s.Note,
	}
	for _, l := range s.Adopts.Lost {
		adoption.Lost = append(adoption.Lost, PlanLost(l))
	}
	return adoption
}

// maxLost is the number of lost values of an object that a text names.
const maxLost = 10

// Adoption returns the lines about a step that takes over an existing object: the object and who has it, whether it has
// run already or is deleted afterwards, and a line for each value that gets lost, or the reason why these values are
// not known.
func Adoption(s result.Step) []string {
	text := s.Key.String()
	if s.Adopts == nil {
		return []string{terminal.Clean(text)}
	}
	return adoptionOf(s).lines(text, string(s.Phase))
}

// lines returns the lines about an adoption. phase is the deletion phase in which the object is taken over; empty if it
// is taken over before a deletion.
func (a PlanAdoption) lines(object, phase string) []string {
	first := fmt.Sprintf("%s from %s", object, a.From)
	if phase != "" {
		first += ", when the component is deleted"
	}
	texts := []string{terminal.Clean(first)}
	if a.Note != "" {
		texts = append(texts, "  "+a.Note)
	}
	if a.Deleted {
		texts = append(texts, "  lost: the whole object, because it is deleted afterwards")
	}
	for _, l := range a.Lost[:min(len(a.Lost), maxLost)] {
		texts = append(texts, "  lost: "+l.String())
	}
	if a.LostUnknown != "" {
		texts = append(texts, "  lost: not known: "+terminal.Clean(oneLine(a.LostUnknown)))
	}
	if more := len(a.Lost) - maxLost; more > 0 {
		texts = append(texts, "  lost: "+plural.Of(more, "more value")+"; fairlead diff shows all")
	}
	return texts
}

// maxValue is the number of bytes of a value that a text shows.
const maxValue = 60

// String returns the value as texts show it.
func (l PlanLost) String() string {
	switch {
	case l.Withheld:
		return terminal.Clean(l.Path) + " (its value is withheld, because the object is a Secret)"
	case l.After == "":
		return fmt.Sprintf("%s: %s", terminal.Clean(l.Path), shortValue(l.Before))
	}
	return fmt.Sprintf("%s: %s becomes %s", terminal.Clean(l.Path), shortValue(l.Before), shortValue(l.After))
}

func shortValue(value string) string {
	value = oneLine(value)
	if len(value) <= maxValue {
		return value
	}
	return strings.ToValidUTF8(value[:maxValue], "") + "…"
}
