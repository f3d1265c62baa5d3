package values

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
)

// Options are files and assignments of values.
type Options struct {
	// Base are values that all others override.
	Base map[string]any
	// Files are paths of YAML files in ascending precedence; "-" is Stdin.
	Files []string
	// Assigned are assignments, which override files. Later assignments override earlier ones.
	Assigned Assignments
	Stdin    io.Reader
	// Warn is called with a description of each ignored input.
	Warn func(error)
}

// Given reports whether there are any files or assignments, even if these are empty.
func (s Options) Given() bool { return len(s.Files) > 0 || s.Assigned.given() }

// Load reads and merges all files and assignments. It keeps null values, because a null removes a default value of a
// chart.
func (s Options) Load() (map[string]any, error) {
	merged := merge(map[string]any{}, s.Base)
	stdin := &onceReader{Reader: s.Stdin}
	for _, file := range s.Files {
		values, err := s.loadFile(file, stdin)
		if err != nil {
			return nil, err
		}
		merged = merge(merged, values)
	}
	return s.Assigned.into(merged, stdin)
}

// Manifest returns an error for the first file that contains a manifest instead of values, or nil if no file does. It
// skips Stdin, and files that cannot be read, for which Load returns an error.
func (s Options) Manifest() error {
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

func (s Options) loadFile(file string, stdin *onceReader) (map[string]any, error) {
	text, err := stdin.readFile(file)
	if err != nil {
		return nil, err
	}
	if file == "-" {
		file = "stdin"
	}
	return parse(file, text, s.Warn)
}

// onceReader reads the whole of stdin, which is possible only once.
type onceReader struct {
	io.Reader
	read bool
}

// readFile returns the content of a file. "-" is stdin.
func (r *onceReader) readFile(file string) ([]byte, error) {
	if file != "-" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read values: %w", err)
		}
		return text, nil
	}
	if r.read {
		return nil, errors.New("stdin is used twice as a file of values")
	}
	r.read = true
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read values from stdin: %w", err)
	}
	return text, nil
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
