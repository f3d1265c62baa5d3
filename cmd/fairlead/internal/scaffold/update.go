package scaffold

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/render"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/scaffold/merge"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/scaffold/staging"
)

// UpdateRequest selects a project and the options of its update.
type UpdateRequest struct {
	Dir string
	// Fairlead is the version of Fairlead that the project will require.
	Fairlead Fairlead
	// KeepConflicts writes merged files with conflict markers.
	KeepConflicts bool
	// DryRun writes nothing.
	DryRun bool
	// Report is called with a line for each step.
	Report func(line string)
}

// Update is the result of a merge of newer templates.
type Update struct {
	Changes   []merge.Change
	Conflicts []merge.Conflict
	// Notes are warnings for a person.
	Notes []string
}

// UpdateProject merges the templates of this program with the files of a project. If there are conflicts, it writes
// nothing unless KeepConflicts is true. With KeepConflicts, it also renews the record, so that the next update does not
// report the conflicts again.
func UpdateProject(ctx context.Context, req UpdateRequest) (Update, error) {
	o, base, err := readRecords(req.Dir)
	if err != nil {
		return Update{}, err
	}
	newer, notes, err := renderNewer(ctx, req, o)
	if err != nil {
		return Update{}, err
	}
	update, err := mergeAll(ctx, req.Dir, base, newer)
	update.Notes = append(notes, update.Notes...)
	if err != nil || req.DryRun || len(update.Conflicts) > 0 && !req.KeepConflicts {
		return update, err
	}
	kept, err := records(o, newer)
	if err != nil {
		return update, err
	}
	return update, update.write(ctx, req, kept)
}

// renderNewer renders the current templates with the chart or kustomization in the project.
func renderNewer(ctx context.Context, req UpdateRequest, o Options) ([]File, []string, error) {
	var given []File
	if o.Given {
		folder := sourceFolder(o)
		tree, err := render.Open(filepath.Join(req.Dir, filepath.FromSlash(folder)))
		if err != nil {
			return nil, nil, err
		}
		files, err := readSource(tree)
		if err != nil {
			return nil, nil, err
		}
		for _, file := range files {
			given = append(given, File{Path: folder + "/" + file.Path, Content: file.Content})
		}
	}
	f, notes, err := learn(ctx, o, req.Fairlead, given)
	if err != nil {
		return nil, nil, err
	}
	newer, err := renderAll(f)
	return newer, notes, err
}

// mergeAll merges three versions of each file: base as rendered last time, the file in the folder dir, and newer as
// rendered now.
func mergeAll(ctx context.Context, dir string, base, newer []File) (Update, error) {
	before, after := byPath(base), byPath(newer)
	var paths []string
	for _, file := range slices.Concat(base, newer) {
		if !filepath.IsLocal(filepath.FromSlash(file.Path)) {
			return Update{}, fmt.Errorf("%s names %q, which is not in the project", baseFile, file.Path)
		}
		paths = append(paths, file.Path)
	}
	slices.Sort(paths)
	var update Update
	for _, path := range slices.Compact(paths) {
		mine, err := readMine(dir, path)
		if err != nil {
			return update, err
		}
		v := merge.Versions{Base: before[path], Mine: mine, Newer: after[path]}
		if v.IsLeftOut() {
			update.Notes = append(update.Notes,
				path+" was deleted or renamed in the project, so changes of its template are not merged")
		}
		change, conflicts, err := v.Merge(ctx, path)
		if err != nil {
			return update, err
		}
		if change != nil {
			update.Changes = append(update.Changes, *change)
		}
		update.Conflicts = append(update.Conflicts, conflicts...)
	}
	return update, nil
}

func byPath(files []File) map[string][]byte {
	found := map[string][]byte{}
	for _, file := range files {
		found[file.Path] = append([]byte{}, file.Content...)
	}
	return found
}

// readMine returns the content of a file of the project, or nil if the file does not exist.
func readMine(dir, path string) ([]byte, error) {
	content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return append([]byte{}, content...), err
}

// write writes the whole update or, after an error, nothing. It runs the project's tools unless the files have conflict
// markers.
func (u Update) write(ctx context.Context, req UpdateRequest, kept []File) error {
	stage, err := staging.New(req.Dir)
	if err != nil {
		return err
	}
	defer stage.Discard()
	var written, deleted []string
	for _, change := range u.Changes {
		if change.Verb == merge.VerbDelete {
			deleted = append(deleted, change.File)
			continue
		}
		written = append(written, change.File)
		if err := stage.Put(change.File, change.Content); err != nil {
			return err
		}
	}
	for _, file := range kept {
		written = append(written, file.Path)
		if err := stage.Put(file.Path, file.Content); err != nil {
			return err
		}
	}
	if err := stage.Move(written, deleted); err != nil {
		return err
	}
	if len(u.Conflicts) > 0 {
		req.Report("after you have resolved the conflicts, run: go mod tidy && make generate")
		return nil
	}
	tools := toolRunner{dir: req.Dir, fairlead: req.Fairlead, report: req.Report}
	if err := tools.tidy(ctx); err != nil {
		return &UnfinishedError{Err: err}
	}
	if err := tools.generate(ctx); err != nil {
		return &UnfinishedError{Err: err}
	}
	return nil
}

// UnfinishedError is the error of an update that was written, but whose tools failed.
type UnfinishedError struct {
	// Err is the error of the tools.
	Err error
}

// Error returns a message that explains how to finish the update.
func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("the files are merged, but generated files are outdated: %v; correct this, then run: "+
		"go mod tidy && make generate", e.Err)
}

// Unwrap returns Err.
func (e *UnfinishedError) Unwrap() error { return e.Err }
