package validate

import (
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/holes"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// WithoutHoles returns an object without the fields that have holes, and their paths. The object must be whole.
func WithoutHoles(o manifests.Object) (rest manifests.Object, paths [][]string) {
	if !o.Settings.Binds() {
		return o, nil
	}
	paths = holes.Paths(o.Body.Object, o.Key.GroupKind())
	o.Body, _ = without(o.Body, paths)
	return o, paths
}

// CheckRest returns what Check returns for a manifest whose holes are not filled: the faults of the fields without
// holes. A fault of a field that contains one with a hole is left out, because the value may correct it.
func CheckRest(s Subject) (faults []Fault, dropped []string) {
	var paths [][]string
	s.Object, paths = WithoutHoles(s.Object)
	// The hash of the immutable fields covers the holes, too.
	s.Recorded = 0
	s.Values = s.Values.WithoutRules()
	faults, dropped = Check(s)
	faults = slices.DeleteFunc(faults, func(f Fault) bool { return f.Field != "" && isAbout(f.Field, paths) })
	return faults, slices.DeleteFunc(dropped, func(path string) bool { return isAbout(path, paths) })
}

// isAbout reports whether a path contains a field with a hole, or is in one. Names with periods are not told apart from
// paths, so a path that only looks like one counts, too.
func isAbout(path string, paths [][]string) bool {
	text := strings.Join(fieldNames(path), ".") + "."
	return slices.ContainsFunc(paths, func(hole []string) bool {
		other := strings.Join(hole, ".") + "."
		return strings.HasPrefix(text, other) || strings.HasPrefix(other, text)
	})
}
