package generator

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Switch returns a generator that selects one of several generators by the value of a parameter. path is the path of
// the parameter, with a key for each level. The value of the parameter is a string, a number or a boolean. If the
// parameter is missing, null or empty, the generator of case "" is selected. For a value without a case, Generate
// returns an error that lists the cases.
//
//	generator.Switch(map[string]generator.Generator{"postgres": postgres, "mysql": mysql}, "database", "kind")
//
// The version of the generator combines the versions of all cases. If one case has no version, the generator has no
// version.
func Switch(cases map[string]Generator, path ...string) Generator {
	return &switched{cases: maps.Clone(cases), path: slices.Clone(path)}
}

type switched struct {
	cases map[string]Generator
	path  []string
}

var _ Versioner = (*switched)(nil)

// Generate renders with the selected generator.
func (s *switched) Generate(ctx context.Context, req Request) ([]client.Object, error) {
	g, err := s.chosen(req)
	if err != nil {
		return nil, err
	}
	return g.Generate(ctx, req)
}

// chosen returns the selected generator.
func (s *switched) chosen(req Request) (Generator, error) {
	choice, err := s.choice(req.Parameters)
	if err != nil {
		return nil, err
	}
	g, ok := s.cases[choice]
	if !ok {
		return nil, fmt.Errorf("parameter %s: %s; want one of %s", s.parameter(), found(choice), s.known())
	}
	return g, nil
}

// Version combines the versions of the cases.
func (s *switched) Version() string {
	parts := make([]any, 0, len(s.cases))
	for _, name := range slices.Sorted(maps.Keys(s.cases)) {
		parts = append(parts, s.cases[name])
	}
	return versionOfAll(fmt.Sprintf("switch %q %q", s.path, slices.Sorted(maps.Keys(s.cases))), parts...)
}

func (s *switched) choice(parameters map[string]any) (string, error) {
	var value any = parameters
	for i, key := range s.path {
		level, ok := value.(map[string]any)
		switch {
		case ok:
			value = level[key]
		case value == nil:
			return "", nil
		default:
			return "", fmt.Errorf("parameter %s: want a map with the key %q", strings.Join(s.path[:i], "."), key)
		}
	}
	switch value := value.(type) {
	case nil:
		return "", nil
	case string:
		return value, nil
	case bool, int, int64, float64:
		return fmt.Sprint(value), nil
	}
	return "", fmt.Errorf("parameter %s: want a string, one of %s", s.parameter(), s.known())
}

func (s *switched) parameter() string { return strings.Join(s.path, ".") }

func (s *switched) known() string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.cases)) {
		if name != "" {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

func found(choice string) string {
	if choice == "" {
		return "it is not set"
	}
	return fmt.Sprintf("there is no %q", choice)
}
