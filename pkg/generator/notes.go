package generator

import (
	"context"
	"fmt"
	"strings"
)

// Noter is an optional interface of a Generator, and what wraps one passes it on: Notes returns a text for the person who applied the
// component, made for the same request as the dependents, or nothing. What is said of Generate holds for it, too.
type Noter interface {
	Notes(ctx context.Context, req Request) (string, error)
}

// NotesOf returns the notes of a generator; a generator that is no Noter has none.
func NotesOf(ctx context.Context, g Generator, req Request) (string, error) {
	noter, ok := g.(Noter)
	if !ok {
		return "", nil
	}
	return noter.Notes(ctx, req)
}

// Notes returns those of the generator.
func (c *chain) Notes(ctx context.Context, req Request) (string, error) {
	return NotesOf(ctx, c.generator, req)
}

// Notes returns those of the generator, for the changed parameters.
func (p *parameterised) Notes(ctx context.Context, req Request) (string, error) {
	req, err := p.changed(ctx, req)
	if err != nil {
		return "", err
	}
	return NotesOf(ctx, p.generator, req)
}

// Notes returns those of all parts, with an empty line between them.
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

// Notes returns those of the generator that the parameter names.
func (s *switched) Notes(ctx context.Context, req Request) (string, error) {
	g, err := s.chosen(req)
	if err != nil {
		return "", err
	}
	return NotesOf(ctx, g, req)
}
