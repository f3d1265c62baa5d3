package reference

import (
	"fmt"
	"os"
	"slices"

	"sigs.k8s.io/yaml"
)

// Stability says how long a feature stays as it is; docs/support.md has the promises.
type Stability string

// The levels of stability.
const (
	Alpha  Stability = "alpha"
	Beta   Stability = "beta"
	Stable Stability = "stable"
)

// Feature is a feature with the names in the reference that belong to it.
type Feature struct {
	Feature   string    `json:"feature"`
	Stability Stability `json:"stability"`
	// Page is the page that explains the feature, relative to docs/.
	Page string `json:"page"`
	// Fields are fields of a Component directly below spec and status.
	Fields []string `json:"fields,omitempty"`
	// Settings are annotations of dependents, without the prefix.
	Settings []string `json:"settings,omitempty"`
	// Commands and Flags are those of fairlead, without the program's name and the hyphens.
	Commands []string `json:"commands,omitempty"`
	Flags    []string `json:"flags,omitempty"`
	// OperatorFlags are flags of fairlead-operator.
	OperatorFlags []string `json:"operatorFlags,omitempty"`
	// Packages are folders of Go packages.
	Packages []string `json:"packages,omitempty"`
}

// Features reads a file of features. It fails if a feature has no name, no page or an unknown stability.
func Features(path string) ([]Feature, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var features []Feature
	if err := yaml.UnmarshalStrict(content, &features); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, f := range features {
		if f.Feature == "" || f.Page == "" || !slices.Contains([]Stability{Alpha, Beta, Stable}, f.Stability) {
			return nil, fmt.Errorf("%s: feature %q: want a name, a page, and the stability alpha, beta or stable",
				path, f.Feature)
		}
	}
	return features, nil
}

// CompareNames returns the mistakes as sentences: a known name that belongs to no feature or to several, and a name
// that a feature lists and that is not in known. The sentences call a name by its kind, such as flag.
func CompareNames(kind string, known []string, features []Feature, names func(Feature) []string) []string {
	var problems []string
	owner := map[string]string{}
	for _, f := range features {
		for _, name := range names(f) {
			if other, twice := owner[name]; twice {
				problems = append(problems, fmt.Sprintf("%s %s belongs to %q and to %q", kind, name, other, f.Feature))
			}
			owner[name] = f.Feature
			if !slices.Contains(known, name) {
				problems = append(problems, fmt.Sprintf("%s %s of %q does not exist", kind, name, f.Feature))
			}
		}
	}
	for _, name := range known {
		if owner[name] == "" {
			problems = append(problems, fmt.Sprintf("%s %s belongs to no feature", kind, name))
		}
	}
	return problems
}
