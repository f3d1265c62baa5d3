package component

import (
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/pkg/component/internal/protect"
)

// Incidental describes objects that a controller creates in namespaces by itself. They do not block the deletion of a
// namespace, and are deleted with it. Such objects cannot be recognised by their own fields, so they have to be listed.
type Incidental struct {
	// Group and Kind of the objects.
	Group, Kind string
	// Name is the name of the objects in every namespace. If it is empty, any name matches.
	Name string
	// Labels must all be present on an object. If it is empty, no label is required.
	Labels map[string]string
}

// incidentals returns the well-known objects and the configured ones.
func incidentals(configured []Incidental) ([]protect.Incidental, error) {
	all := slices.Clone(protect.WellKnown)
	for i, c := range configured {
		if c.Kind == "" {
			return nil, fmt.Errorf("Options.Incidental: entry %d names no kind", i+1)
		}
		all = append(all, protect.Incidental(c))
	}
	return all, nil
}
