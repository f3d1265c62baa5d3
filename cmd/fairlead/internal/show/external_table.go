package show

import (
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/componentexternals"
)

// Externals are the dependents of a component outside Kubernetes.
type Externals struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Component  Component `json:"component"`
	// Externals are sorted by kind and name.
	Externals []External `json:"externals"`
}

// External is a dependent outside Kubernetes.
type External struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// State, Reason and Message are those of Dependent.
	State   string `json:"state"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// ID is the id in the external system, and Token identifies the creation. They are empty if they are not stored, or
	// if the person may not read the record.
	ID    string `json:"id,omitempty"`
	Token string `json:"token,omitempty"`
	// Since is the time of the last intent: to create or to delete the external.
	Since *time.Time `json:"since,omitempty"`
	// NeedsAnswer is set if only a person can say whether the external exists.
	NeedsAnswer bool `json:"needsAnswer,omitempty"`
}

// NewExternals converts the externals of a component into the form that commands print.
func NewExternals(c componentexternals.Component) Externals {
	all := Externals{
		APIVersion: SchemaVersion, Kind: "Externals", Component: NewComponent(c.Live, c.Status), Externals: []External{},
	}
	for _, e := range c.Externals {
		shown := External{
			Kind: e.Key.Kind, Name: e.Key.Name, State: string(e.State), Reason: e.Reason, Message: e.Message,
			Token: string(e.UID), NeedsAnswer: e.IsUncertain(),
		}
		if r := e.Record; r != nil {
			shown.ID = r.ID
			if r.Token != "" {
				shown.Token = r.Token
			}
			if !r.Since.IsZero() {
				shown.Since = &r.Since
			}
		}
		all.Externals = append(all.Externals, shown)
	}
	return all
}

// Print writes the externals.
func (e Externals) Print(o Output, now time.Time) error {
	switch {
	case o.Structured():
		return o.write(e)
	case o.Format == FormatName:
		var names []string
		for _, x := range e.Externals {
			names = append(names, x.Kind+"/"+x.Name)
		}
		return o.names(names)
	}
	titles := []string{"EXTERNAL", "STATE", "ID"}
	if o.Format == FormatWide {
		titles = append(titles, "TOKEN", "SINCE")
	}
	var rows [][]cell
	for _, x := range e.Externals {
		cells := append(row(x.Kind+"/"+x.Name), state(x.State))
		cells = append(cells, row(orDash(x.ID))...)
		if o.Format == FormatWide {
			since := ""
			if x.Since != nil {
				since = duration.HumanDuration(now.Sub(*x.Since)) + " ago"
			}
			cells = append(cells, row(orDash(x.Token), orDash(since))...)
		}
		rows = append(rows, append(cells, row(explanation(x.Reason, x.Message))...))
	}
	return table(o, append(titles, "MESSAGE"), rows)
}
