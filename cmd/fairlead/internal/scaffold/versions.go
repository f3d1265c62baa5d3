package scaffold

import (
	"bytes"
	"context"
)

// versions are a file as it was written last time, as it is in the project, and as it is newer; nil where it is not there.
type versions struct{ base, mine, newer []byte }

// isLeftOut says of a file that a person deleted or renamed that the template has changes of it.
func (v versions) isLeftOut() bool {
	return v.mine == nil && v.base != nil && v.newer != nil && !same(v.plain().base, v.newer)
}

// merge decides about a file, and ends its lines as most of them end in the project.
func (v versions) merge(ctx context.Context, path string) (*Change, []Conflict, error) {
	change, conflicts, err := v.plain().decide(ctx, path)
	if change != nil && hasReturns(v.mine) {
		change.content = bytes.ReplaceAll(change.content, []byte("\n"), []byte("\r\n"))
	}
	return change, conflicts, err
}

func (v versions) decide(ctx context.Context, path string) (*Change, []Conflict, error) {
	switch {
	case same(v.mine, v.newer), same(v.base, v.newer):
		return nil, nil, nil
	case v.base == nil && v.mine == nil:
		return &Change{Verb: VerbCreate, File: path, content: v.newer}, nil, nil
	case v.base == nil:
		return nil, []Conflict{{File: path, Why: "the template has a file of this name now, and so do you: rename yours"}}, nil
	case v.mine == nil:
		// Who deleted a file does not want a newer one, either.
		return nil, nil, nil
	case v.newer == nil && same(v.base, v.mine):
		return &Change{Verb: VerbDelete, File: path}, nil, nil
	case v.newer == nil:
		return nil, []Conflict{{File: path, Why: "the template has it no more, and you changed it: delete it, or keep it as yours"}}, nil
	case same(v.base, v.mine):
		return &Change{Verb: VerbUpdate, File: path, content: v.newer}, nil, nil
	case bytes.IndexByte(v.mine, 0) >= 0:
		return nil, []Conflict{{File: path, Why: "the template changed it, and here it is no text: move it, or take the template's"}}, nil
	case path == "go.mod":
		merged, err := mergeModule(v.mine, v.base, v.newer)
		return &Change{Verb: VerbMerge, File: path, content: merged}, nil, err
	}
	merged, conflicts, err := mergeText(ctx, path, v.base, v.mine, v.newer)
	return &Change{Verb: VerbMerge, File: path, content: merged}, conflicts, err
}

// plain ends lines as templates do: git may check a project out with others.
func (v versions) plain() versions {
	return versions{base: withoutReturns(v.base), mine: withoutReturns(v.mine), newer: v.newer}
}

// hasReturns says whether most lines of a text end with a carriage return and a line feed. An editor may have ended some in another way.
func hasReturns(text []byte) bool {
	return 2*bytes.Count(text, []byte("\r\n")) > bytes.Count(text, []byte("\n"))
}

func withoutReturns(text []byte) []byte {
	if !hasReturns(text) {
		return text
	}
	return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
}

// same compares contents; a file that is not there is not an empty one.
func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }
