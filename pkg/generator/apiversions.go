package generator

import (
	"encoding/json"
	"slices"
)

// APIVersions are the API versions that a cluster serves, as group/version and as group/version/Kind. The zero value
// has none. A component is rendered again when the result of Has changes for a version that its last rendering asked
// for. A generator that calls All depends on all versions, so its components are rendered again when any type is
// defined or deleted.
type APIVersions struct {
	// served is sorted.
	served []string
	// asked is called with each version that is asked for, and with an empty string if all versions are read. It may be
	// nil.
	asked func(version string)
}

// NewAPIVersions returns the given API versions.
func NewAPIVersions(served ...string) APIVersions {
	sorted := slices.Clone(served)
	slices.Sort(sorted)
	return APIVersions{served: slices.Compact(sorted)}
}

// Has reports whether a group/version, or a group/version/Kind, is served.
func (v APIVersions) Has(version string) bool {
	if v.asked != nil && version != "" {
		v.asked(version)
	}
	_, found := slices.BinarySearch(v.served, version)
	return found
}

// All returns all API versions, sorted.
func (v APIVersions) All() []string {
	if v.asked != nil {
		v.asked("")
	}
	return slices.Clone(v.served)
}

// Equal reports whether both have the same versions. It does not count as a question.
func (v APIVersions) Equal(other APIVersions) bool { return slices.Equal(v.served, other.served) }

// MarshalJSON implements json.Marshaler: the versions are a list.
func (v APIVersions) MarshalJSON() ([]byte, error) { return json.Marshal(v.All()) }

// IsEmpty reports whether the API versions are unknown, as in a rendering without a cluster.
func (v APIVersions) IsEmpty() bool { return len(v.served) == 0 }

// OnAsk returns the same API versions, which call asked with each version that is asked for, and with an empty
// string when All is called. asked must be safe for concurrent use.
func (v APIVersions) OnAsk(asked func(version string)) APIVersions {
	v.asked = asked
	return v
}
