package component

import (
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/pkg/component/internal/protect"
)

// Incidental describes objects that a controller creates automatically in namespaces. Incidental objects do not block
// the deletion of a namespace, and are deleted with the namespace. Incidental objects have to be listed here, because
// their content does not show that they were created automatically.
type Incidental struct {
	// Group and Kind of the objects.
	Group, Kind string
	// Name is the name of the objects in every namespace. If Name is empty, any name matches.
	Name string
	// Labels must all be present on an object. If Labels is empty, no label is required.
	Labels map[string]string
}

// incidentals returns protect.WellKnown, followed by the configured entries.
func incidentals(configured []Incidental) ([]protect.Incidental, error) {
	all := slices.Clone(protect.WellKnown)
	for i, c := range configured {
		if c.Kind == "" {
			return nil, fmt.Errorf("Options.Dependents.Incidental: entry %d has no kind", i+1)
		}
		all = append(all, protect.Incidental(c))
	}
	return all, nil
}
