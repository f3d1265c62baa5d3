// Package values reads the values of a component from files and assignments. As in Helm, later values override earlier
// values, and maps are merged.
//
// Errors name the file and the line. They never contain an assignment, which may have a password.
package values

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"

	"helm.sh/helm/v3/pkg/strvals"
)

// Sources are files and assignments of values.
type Sources struct {
	// Files are paths of YAML files in ascending precedence; "-" is Stdin.
	Files []string
	// Assignments have the syntax of helm --set. They override files, and later assignments override earlier ones.
	Assignments []string
	Stdin       io.Reader
	// Warn is called with a description of each ignored input.
	Warn func(error)
}

// Given reports whether there are any files or assignments, even if these are empty.
func (s Sources) Given() bool { return len(s.Files)+len(s.Assignments) > 0 }

// Load reads and merges all sources. It keeps null values, because a null removes a default value of a chart.
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

// Manifest returns an error for the first file that contains a manifest instead of values, or nil if no file does. It
// skips Stdin, and files that cannot be read, for which Load returns an error.
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

// merge returns the values of base and over, of which over has precedence. It changes neither map.
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
