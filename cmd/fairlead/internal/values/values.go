// Package values makes the values of a component from files and assignments, as Helm does: later ones win, and maps are merged.
package values

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"

	"helm.sh/helm/v3/pkg/strvals"
)

// Sources say where values come from.
type Sources struct {
	// Files are paths of YAML files in ascending order of precedence; "-" is Stdin.
	Files []string
	// Assignments in the syntax of helm --set win over all files; later ones win.
	Assignments []string
	Stdin       io.Reader
	// Warn is told of what is ignored.
	Warn func(error)
}

// Given says that there is any source, be it an empty one.
func (s Sources) Given() bool { return len(s.Files)+len(s.Assignments) > 0 }

// Load reads and merges all sources. A null stays a value: Helm is told by it to drop a default of the chart. An error names file and
// line, and never quotes an assignment, which may hold a password.
func (s Sources) Load() (map[string]any, error) {
	merged := map[string]any{}
	stdinRead := false
	for _, file := range s.Files {
		if file == "-" && stdinRead {
			return nil, errors.New("stdin is used twice as a file of values")
		}
		stdinRead = stdinRead || file == "-"
		values, err := s.loadFile(file)
		if err != nil {
			return nil, err
		}
		merged = merge(merged, values)
	}
	for i, assignment := range s.Assignments {
		if err := strvals.ParseInto(assignment, merged); err != nil {
			return nil, fmt.Errorf("--set number %d: %w", i+1, err)
		}
	}
	return merged, nil
}

// Manifest returns the error of the first file that holds a manifest instead of values, nil if there is none. It reads neither Stdin nor
// files that cannot be read; Load reports those.
func (s Sources) Manifest() error {
	for _, file := range s.Files {
		if file == "-" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if _, err := parse(file, text, func(error) {}); errors.Is(err, errManifest) {
			return err
		}
	}
	return nil
}

func (s Sources) loadFile(file string) (map[string]any, error) {
	if file == "-" {
		text, err := io.ReadAll(s.Stdin)
		if err != nil {
			return nil, fmt.Errorf("read values from stdin: %w", err)
		}
		return parse("stdin", text, s.Warn)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read values: %w", err)
	}
	return parse(file, text, s.Warn)
}

// merge returns base with over on top, and changes neither.
func merge(base, over map[string]any) map[string]any {
	merged := maps.Clone(base)
	for key, value := range over {
		below, isMap := merged[key].(map[string]any)
		above, mergeable := value.(map[string]any)
		if isMap && mergeable {
			value = merge(below, above)
		}
		merged[key] = value
	}
	return merged
}
