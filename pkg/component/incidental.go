package component

import (
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/pkg/component/internal/protect"
)

// Incidental describes objects that some controller puts into namespaces by itself, and that nobody misses with them. Nothing on such an
// object tells that in general.
type Incidental struct {
	// Group and Kind of the objects.
	Group, Kind string
	// Name is their name in every namespace; any name where it is empty.
	Name string
	// Labels are those that they all carry; none are needed where it is empty.
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
