package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

// WithPlaces completes the error of a rendering with the source files of the objects that it renders more than once.
func WithPlaces(err error, places *Places) error {
	var texts []string
	for _, repeated := range repeatedIn(err) {
		if files := places.all(repeated.Object.String()); len(files) > 0 {
			texts = append(texts, fmt.Sprintf("%s is rendered by %s", repeated.Object, strings.Join(files, ", ")))
		}
	}
	if len(texts) == 0 {
		return err
	}
	return fmt.Errorf("%w; %s", err, strings.Join(texts, "; "))
}

// repeatedIn returns the errors of objects that are rendered more than once which an error joins or wraps.
func repeatedIn(err error) (found []*normalise.RepeatedError) {
	switch e := err.(type) { //nolint:errorlint // The function looks at each error of the tree itself.
	case *normalise.RepeatedError:
		return []*normalise.RepeatedError{e}
	case interface{ Unwrap() error }:
		return repeatedIn(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			found = append(found, repeatedIn(part)...)
		}
	}
	return found
}

// all returns all files of an object, each with the lines of its documents that have the kind and the name of the
// object as they are.
func (p *Places) all(object string) (found []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, from := range p.origins[object] {
		if from.file == "" {
			continue
		}
		documents := from.documents()
		if len(documents) == 0 {
			found = append(found, from.file)
		}
		for _, d := range documents {
			found = append(found, from.place(d.begin+d.named+1))
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
