package reference

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/yaml"
)

// PromiseGroup is a section of the page with the promises.
type PromiseGroup struct {
	Group string `json:"group"`
	// About is a paragraph in Markdown for the page in docs/reference.
	About    string    `json:"about"`
	Promises []Promise `json:"promises"`
}

// Promise is a guarantee with the specs that prove it.
type Promise struct {
	Promise string `json:"promise"`
	// Specs are titles of specs, or beginnings of titles. Each is in a single file.
	Specs []string `json:"specs"`
}

// wordsOfAPromise is the longest promise.
const wordsOfAPromise = 25

// Promises reads a file of promises. It fails if a promise is too long or has no spec.
func Promises(path string) ([]PromiseGroup, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var groups []PromiseGroup
	if err := yaml.UnmarshalStrict(content, &groups); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var problems []error
	for _, group := range groups {
		for _, p := range group.Promises {
			if words := len(strings.Fields(p.Promise)); words == 0 || words > wordsOfAPromise || len(p.Specs) == 0 {
				problems = append(problems, fmt.Errorf("%s: promise %q: want 1 to %d words, and a spec",
					path, p.Promise, wordsOfAPromise))
			}
		}
	}
	return groups, errors.Join(problems...)
}

// Files returns the test files with the specs of the promise, in the order of the specs. It fails for a title that is
// in no file or in several ones.
func (p Promise) Files(specs Specs) ([]string, error) {
	var files []string
	var problems []error
	known := map[string]bool{}
	for _, title := range p.Specs {
		found := specs.Files(title)
		if len(found) != 1 {
			problems = append(problems, fmt.Errorf("promise %q: the spec %q is in %d files %v, not in one",
				p.Promise, title, len(found), found))
			continue
		}
		if !known[found[0]] {
			known[found[0]] = true
			files = append(files, found[0])
		}
	}
	return files, errors.Join(problems...)
}
