package typeset

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Set is an index of managed types.
type Set struct {
	exact    map[schema.GroupKind]bool
	groups   map[string]bool
	patterns []manifests.ManagedType
}

// New indexes managed types.
func New(types []manifests.ManagedType) Set {
	s := Set{exact: map[schema.GroupKind]bool{}, groups: map[string]bool{}}
	for _, t := range types {
		switch {
		case strings.Contains(t.Group, "*"):
			s.patterns = append(s.patterns, t)
		case t.Kind == "*":
			s.groups[t.Group] = true
		default:
			s.exact[t.GroupKind] = true
		}
	}
	return s
}

// Has reports whether gk matches one of the managed types.
func (s Set) Has(gk schema.GroupKind) bool {
	if s.exact[gk] || s.groups[gk.Group] {
		return true
	}
	for _, p := range s.patterns {
		if p.Matches(gk) {
			return true
		}
	}
	return false
}

// StageOf returns the stage of a type. Objects whose type is one of the managed types are in StageInstances.
func (s Set) StageOf(gk schema.GroupKind) manifests.Stage {
	if s.Has(gk) {
		return manifests.StageInstances
	}
	return stageOf(gk)
}
