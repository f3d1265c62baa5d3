package scaffold

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/scaffold/staging"
	"github.com/fairlead-io/fairlead/internal/plural"
)

// Request contains the options and the folder of a project.
type Request struct {
	// Dir is the folder of the project. If it is empty, the project cannot be written.
	Dir     string
	Options Options
	// Fairlead is the version that the project requires.
	Fairlead Fairlead
	// Source is the given chart or kustomization. It may be the only folder in Source. Source is nil for the example.
	Source fs.FS
	// Force allows Write to overwrite files.
	Force bool
	// Report is called with a line for each step.
	Report func(line string)
}

// Project contains the rendered files of a project, before they are written.
type Project struct {
	request Request
	// Files are all files except for the files that the project's tools generate.
	Files []File
	// Notes are warnings for a person.
	Notes []string
}

// madeByTools returns the files that the tools of the project generate.
func madeByTools(o Options) []string {
	return []string{
		"go.sum",
		path.Join("api", o.Version, "zz_generated.deepcopy.go"),
		path.Join("chart/definitions", o.Group+"_"+o.Plural()+".yaml"),
	}
}

// New renders a project, and writes nothing.
func New(ctx context.Context, req Request) (*Project, error) {
	if err := req.Options.Validate(); err != nil {
		return nil, err
	}
	tree, err := belowWrapper(req.Source)
	if err != nil {
		return nil, err
	}
	given, err := readSource(tree)
	if err != nil {
		return nil, err
	}
	for i := range given {
		given[i].Path = path.Join(sourceFolder(req.Options), given[i].Path)
	}
	readdressed := readdress(req.Options, given)
	f, notes, err := learn(ctx, req.Options, req.Fairlead, given)
	if err != nil {
		return nil, err
	}
	if readdressed != "" {
		notes = append(notes, readdressed)
	}
	rendered, err := renderAll(f)
	if err != nil {
		return nil, err
	}
	kept, err := records(req.Options, rendered)
	if err != nil {
		return nil, err
	}
	files := slices.Concat(rendered, given, kept)
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	p := &Project{request: req, Files: files, Notes: notes}
	return p, p.noteStrangers()
}

// Paths returns the paths of all files of the project, including generated files, and the paths that already exist.
func (p *Project) Paths() (all, existing []string, err error) {
	for _, file := range p.Files {
		all = append(all, file.Path)
	}
	all = append(all, madeByTools(p.request.Options)...)
	slices.Sort(all)
	for _, file := range all {
		_, err := os.Lstat(filepath.Join(p.request.Dir, filepath.FromSlash(file)))
		switch {
		case err == nil:
			existing = append(existing, file)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, nil, err
		}
	}
	return all, existing, nil
}

// Write writes the whole project or, after an error, nothing. It runs the tools of the project in another folder,
// before it moves the files to the folder of the project.
func (p *Project) Write(ctx context.Context) error {
	all, existing, err := p.Paths()
	if err != nil {
		return err
	}
	if len(existing) > 0 && !p.request.Force {
		return &ExistsError{Dir: p.request.Dir, Files: existing}
	}
	stage, err := staging.New(p.request.Dir)
	if err != nil {
		return err
	}
	defer stage.Discard()
	for _, file := range p.Files {
		if err := stage.Put(file.Path, file.Content); err != nil {
			return err
		}
	}
	made := toolRunner{dir: stage.Dir(), fairlead: p.request.Fairlead, report: p.request.Report}
	if err := made.tidy(ctx); err != nil {
		return err
	}
	if err := made.generate(ctx); err != nil {
		return err
	}
	return stage.Move(all, nil)
}

// noteStrangers adds a note for each existing file in the folder of the source, because the operator may render this
// file: it may be a template, or a kustomization may list it.
func (p *Project) noteStrangers() error {
	if p.request.Options.Generator == GeneratorGo || p.request.Dir == "" {
		return nil
	}
	folder := sourceFolder(p.request.Options)
	err := fs.WalkDir(os.DirFS(p.request.Dir), folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || slices.ContainsFunc(p.Files, func(f File) bool { return f.Path == name }) {
			return err
		}
		p.Notes = append(p.Notes,
			name+" existed before, and is now part of the source that the operator renders: move the file elsewhere unless "+
				"the operator shall render it")
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// ExistsError is the error of a project whose files would overwrite existing files.
type ExistsError struct {
	Dir   string
	Files []string
}

// maxNamed is the maximum number of files that the message of ExistsError names.
const maxNamed = 3

// Error returns a message with the first files.
func (e *ExistsError) Error() string {
	named, rest := e.Files, ""
	if more := len(e.Files) - maxNamed; more > 0 {
		named, rest = e.Files[:maxNamed], " and "+plural.Of(more, "more file")+" of the project"
	}
	return fmt.Sprintf("nothing was written: %s already has %s%s; "+
		"--dry-run lists these files, and --force overwrites them, so that their content is lost",
		e.Dir, strings.Join(named, ", "), rest)
}
