package kustomize

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/bounded"
)

// maxPathLevels is the number of levels of a path of a field. kustomize creates missing fields, and each level needs
// stack in everything that handles the object.
const maxPathLevels = 1000

// fieldPaths checks the paths of fields, and the regular expressions, in a kustomization file and in the files that it
// reads replacements and configurations from.
func (r *references) fieldPaths(file string, k kustomization) {
	files := []string{file}
	paths := k.filePaths()
	for _, field := range []string{"configurations", "replacements"} {
		for _, entry := range paths[field] {
			if target, ok := r.resolve(file, field, entry); ok {
				files = append(files, target)
			}
		}
	}
	for _, name := range files {
		// filesOf reports a file that cannot be read, and kustomize a file that cannot be decoded.
		content, err := r.tree.read(name)
		var fields any
		if err == nil && yaml.Unmarshal(content, &fields) == nil {
			r.fieldPathsIn(name, "", fields)
		}
	}
}

// fieldPathsIn checks the paths of fields, and the regular expressions of selectors, below the field at.
func (r *references) fieldPathsIn(file, at string, fields any) {
	switch fields := fields.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			below := strings.TrimPrefix(at+"."+key, ".")
			switch strings.ToLower(key) {
			case "path", "fieldpath", "fieldpaths":
				for _, text := range stringsIn(fields[key]) {
					r.refuse(file, below, checkFieldPath(text))
				}
			case "group", "version", "kind", "namespace", "name":
				for _, text := range stringsIn(fields[key]) {
					_, err := bounded.Pattern(text)
					r.refuse(file, below, err)
				}
			default:
				r.fieldPathsIn(file, below, fields[key])
			}
		}
	case []any:
		for i, element := range fields {
			r.fieldPathsIn(file, fmt.Sprintf("%s[%d]", at, i), element)
		}
	}
}

func (r *references) refuse(file, at string, err error) {
	if err != nil {
		r.errs = append(r.errs, fmt.Errorf("%s: %s: %w", file, at, err))
	}
}

// repetition is a repetition of a regular expression. A number consists of at most four digits.
var repetition = regexp.MustCompile(`\{([0-9]{0,4}),?([0-9]{0,4})\}`)

// checkFieldPath returns an error for a path that has too many levels, or whose regular expressions are too large. The
// parts of a path cannot be parsed reliably, so all repetitions are treated as nested.
func checkFieldPath(text string) error {
	if strings.Count(text, ".")+strings.Count(text, "/") >= maxPathLevels {
		return fmt.Errorf("the path %.40q has more than %d levels", text, maxPathLevels)
	}
	size := len(text)
	for _, found := range repetition.FindAllStringSubmatch(text, -1) {
		for _, number := range found[1:] {
			if n, err := strconv.Atoi(number); err == nil && n > 1 {
				size *= n
			}
		}
		if size > bounded.MaxPattern {
			return fmt.Errorf("the regular expressions in the path %.40q repeat too much", text)
		}
	}
	return nil
}
