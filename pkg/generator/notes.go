package generator

import (
	"context"
	"fmt"
	"strings"
)

// Noter is an optional interface of a Generator. Notes returns a text for the user, such as the NOTES.txt of a Helm
// chart, or an empty string. It gets the same request as Generate, and the contract of Generate applies to Notes too.
// Generators of this package that wrap another generator return its notes.
type Noter interface {
	Notes(ctx context.Context, req Request) (string, error)
}

// NotesOf returns the notes of a generator, or an empty string if the generator does not implement Noter.
func NotesOf(ctx context.Context, g Generator, req Request) (string, error) {
	noter, ok := g.(Noter)
	if !ok {
		return "", nil
	}
	return noter.Notes(ctx, req)
}

// Notes returns the notes of the generator.
func (c *chain) Notes(ctx context.Context, req Request) (string, error) {
	return NotesOf(ctx, c.generator, req)
}

// Notes returns the notes of the generator for the changed parameters.
func (p *parameterised) Notes(ctx context.Context, req Request) (string, error) {
	req, err := p.changed(ctx, req)
	if err != nil {
		return "", err
	}
	return NotesOf(ctx, p.generator, req)
}

// Notes returns the notes of all parts, separated by an empty line.
func (m merged) Notes(ctx context.Context, req Request) (string, error) {
	var all []string
	for i, part := range m {
		notes, err := NotesOf(ctx, part.Generator, req)
		if err != nil {
			return "", fmt.Errorf("%s: %w", part.describe(i), err)
		}
		if notes != "" {
			all = append(all, strings.TrimRight(notes, "\n")+"\n")
		}
	}
	return strings.Join(all, "\n"), nil
}

// Notes returns the notes of the selected generator.
func (s *switched) Notes(ctx context.Context, req Request) (string, error) {
	g, err := s.chosen(req)
	if err != nil {
		return "", err
	}
	return NotesOf(ctx, g, req)
}
