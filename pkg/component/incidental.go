package component

import (
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/pkg/component/internal/protect"
)

// Incidental describes objects that a controller creates in namespaces by itself. They do not block the deletion of a
// namespace, and are deleted with it. Nothing in such an object shows that a controller created it for the namespace,
// so the objects have to be listed here.
type Incidental struct {
	// Group and Kind of the objects.
	Group, Kind string
	// Name is the name of the objects in every namespace. If it is empty, any name matches.
	Name string
	// Labels must all be present on an object. If it is empty, no label is required.
	Labels map[string]string
}

// incidentals returns the well-known incidental objects and the configured ones.
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
