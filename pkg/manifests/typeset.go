package manifests

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TypeSet answers quickly whether a type is among many managed types.
type TypeSet struct {
	exact    map[schema.GroupKind]bool
	groups   map[string]bool
	patterns []ManagedType
}

// NewTypeSet indexes managed types.
func NewTypeSet(types []ManagedType) TypeSet {
	s := TypeSet{exact: map[schema.GroupKind]bool{}, groups: map[string]bool{}}
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

// Has says whether gk is of one of the managed types.
func (s TypeSet) Has(gk schema.GroupKind) bool {
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

// StageOf returns the stage of a type, given the managed types of its set.
func (s TypeSet) StageOf(gk schema.GroupKind) Stage {
	if s.Has(gk) {
		return StageInstances
	}
	return stageOf(gk)
}
