package merge

import (
	"bytes"
	"context"
)

// Verb is the action of an update on a file.
type Verb string

// The verbs.
const (
	VerbCreate Verb = "create"
	VerbUpdate Verb = "update"
	VerbMerge  Verb = "merge"
	VerbDelete Verb = "delete"
)

// Change is the change of a file by an update.
type Change struct {
	Verb    Verb
	File    string
	Content []byte
}

// Versions are the contents of a file in the last rendering (Base), in the project (Mine), and in the current rendering
// (Newer). Nil means that the file does not exist.
type Versions struct{ Base, Mine, Newer []byte }

// IsLeftOut reports whether the template changed a file that a person deleted or renamed.
func (v Versions) IsLeftOut() bool {
	return v.Mine == nil && v.Base != nil && v.Newer != nil && !same(v.plain().Base, v.Newer)
}

// Merge returns the change of a file, or conflicts. It returns neither if the file stays unchanged. The lines of the
// result end in the same way as most lines of the project's file.
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
		return nil, []Conflict{{File: path, Why: "the template contains a new file with this name: rename your file"}}, nil
	case v.Mine == nil:
		// The update does not create a file again that a person deleted.
		return nil, nil, nil
	case v.Newer == nil && same(v.Base, v.Mine):
		return &Change{Verb: VerbDelete, File: path}, nil, nil
	case v.Newer == nil:
		return nil, []Conflict{{
			File: path,
			Why:  "the template no longer has the file, but you changed it: rename it, or delete it with your changes",
		}}, nil
	case same(v.Base, v.Mine):
		return &Change{Verb: VerbUpdate, File: path, Content: v.Newer}, nil, nil
	case bytes.IndexByte(v.Mine, 0) >= 0:
		return nil,
			[]Conflict{{
				File: path,
				Why:  "the template changed the file, but your file is not a text: move it, or replace it by the template's file",
			}}, nil
	case path == "go.mod":
		merged, err := mergeModule(v.Mine, v.Base, v.Newer)
		return &Change{Verb: VerbMerge, File: path, Content: merged}, nil, err
	}
	merged, conflicts, err := mergeText(ctx, path, v.Base, v.Mine, v.Newer)
	return &Change{Verb: VerbMerge, File: path, Content: merged}, conflicts, err
}

// plain returns the versions with line feeds at the ends of lines, because git may check out files with carriage
// returns.
func (v Versions) plain() Versions {
	return Versions{Base: WithLineFeeds(v.Base), Mine: WithLineFeeds(v.Mine), Newer: v.Newer}
}

// hasCarriageReturns reports whether most lines end with a carriage return and a line feed.
func hasCarriageReturns(text []byte) bool {
	return 2*bytes.Count(text, []byte("\r\n")) > bytes.Count(text, []byte("\n"))
}

// WithLineFeeds replaces the carriage returns and line feeds of a text by line feeds, if most of its lines end with
// carriage returns and line feeds. It returns other texts unchanged.
func WithLineFeeds(text []byte) []byte {
	if !hasCarriageReturns(text) {
		return text
	}
	return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
}

// same reports whether two contents are equal. A file that does not exist (nil) differs from an empty file.
func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }
