package merge

import (
	"bytes"
	"context"
)

// Verb says what an update does with a file.
type Verb string

// The verbs.
const (
	VerbCreate Verb = "create"
	VerbUpdate Verb = "update"
	VerbMerge  Verb = "merge"
	VerbDelete Verb = "delete"
)

// Change is what an update does with a file.
type Change struct {
	Verb    Verb
	File    string
	Content []byte
}

// Versions are a file as it was written last time, as it is in the project, and as it is newer; nil where it is not there.
type Versions struct{ Base, Mine, Newer []byte }

// IsLeftOut says of a file that a person deleted or renamed that the template has changes of it.
func (v Versions) IsLeftOut() bool {
	return v.Mine == nil && v.Base != nil && v.Newer != nil && !same(v.plain().Base, v.Newer)
}

// Merge decides about a file, and ends its lines as most of them end in the project.
func (v Versions) Merge(ctx context.Context, path string) (*Change, []Conflict, error) {
	change, conflicts, err := v.plain().decide(ctx, path)
	if change != nil && hasCarriageReturns(v.Mine) {
		change.Content = bytes.ReplaceAll(change.Content, []byte("\n"), []byte("\r\n"))
	}
	return change, conflicts, err
}

func (v Versions) decide(ctx context.Context, path string) (*Change, []Conflict, error) {
	switch {
	case same(v.Mine, v.Newer), same(v.Base, v.Newer):
		return nil, nil, nil
	case v.Base == nil && v.Mine == nil:
		return &Change{Verb: VerbCreate, File: path, Content: v.Newer}, nil, nil
	case v.Base == nil:
		return nil, []Conflict{{File: path, Why: "the template has a new file of this name: rename yours"}}, nil
	case v.Mine == nil:
		// Who deleted a file does not want a newer one, either.
		return nil, nil, nil
	case v.Newer == nil && same(v.Base, v.Mine):
		return &Change{Verb: VerbDelete, File: path}, nil, nil
	case v.Newer == nil:
		return nil, []Conflict{{File: path, Why: "the template dropped it, but you changed it: delete it, or keep it as yours"}}, nil
	case same(v.Base, v.Mine):
		return &Change{Verb: VerbUpdate, File: path, Content: v.Newer}, nil, nil
	case bytes.IndexByte(v.Mine, 0) >= 0:
		return nil, []Conflict{{File: path, Why: "the template changed it, but here it is not a text: move it, or take the template's file"}}, nil
	case path == "go.mod":
		merged, err := mergeModule(v.Mine, v.Base, v.Newer)
		return &Change{Verb: VerbMerge, File: path, Content: merged}, nil, err
	}
	merged, conflicts, err := mergeText(ctx, path, v.Base, v.Mine, v.Newer)
	return &Change{Verb: VerbMerge, File: path, Content: merged}, conflicts, err
}

// plain ends lines as templates do: git may check a project out with others.
func (v Versions) plain() Versions {
	return Versions{Base: WithLineFeeds(v.Base), Mine: WithLineFeeds(v.Mine), Newer: v.Newer}
}

// hasCarriageReturns says whether most lines of a text end with a carriage return and a line feed. An editor may have ended some in another way.
func hasCarriageReturns(text []byte) bool {
	return 2*bytes.Count(text, []byte("\r\n")) > bytes.Count(text, []byte("\n"))
}

func WithLineFeeds(text []byte) []byte {
	if !hasCarriageReturns(text) {
		return text
	}
	return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
}

// same compares contents; a file that is not there is not an empty one.
func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }
