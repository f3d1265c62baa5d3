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
)

// Request says what to write, and where.
type Request struct {
	Dir     string
	Options Options
	// Fairlead is what the project requires.
	Fairlead Fairlead
	// Source is the chart or kustomization that a person gave; nil for the example.
	Source fs.FS
	// Force overwrites files.
	Force bool
	// Report tells a person what is done, and what they should know; a line each.
	Report func(line string)
}

// Project is what a request comes to: files that nobody has written yet.
type Project struct {
	request Request
	// Files are all files, but for those that the project's own tools make.
	Files []File
	// Notes are what a person should know about the result.
	Notes []string
}

// madeByTools are the files that come from the project's own tools.
func madeByTools(o Options) []string {
	return []string{
		"go.sum",
		path.Join("api", o.Version, "zz_generated.deepcopy.go"),
		path.Join("chart/definitions", o.Group+"_"+o.Plural()+".yaml"),
	}
}

// New renders a project. Nothing is written.
func New(ctx context.Context, req Request) (*Project, error) {
	if err := req.Options.Validate(); err != nil {
		return nil, err
	}
	given, err := readSource(req.Source)
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
	return &Project{request: req, Files: files, Notes: notes}, nil
}

// Paths are all files of the project, those of its own tools included, and whether each exists already.
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

// Write writes the project: all of it, or nothing. What its own tools make is made before anything is in place.
func (p *Project) Write(ctx context.Context) error {
	all, existing, err := p.Paths()
	if err != nil {
		return err
	}
	if len(existing) > 0 && !p.request.Force {
		return &ExistsError{Dir: p.request.Dir, Files: existing}
	}
	stage, err := newStage(p.request.Dir)
	if err != nil {
		return err
	}
	defer stage.discard()
	for _, file := range p.Files {
		if err := stage.put(file); err != nil {
			return err
		}
	}
	made := workshop{dir: stage.dir, fairlead: p.request.Fairlead, report: p.request.Report}
	if err := made.tidy(ctx); err != nil {
		return err
	}
	if err := made.generate(ctx); err != nil {
		return err
	}
	return stage.move(all)
}

// ExistsError tells of files that would be overwritten.
type ExistsError struct {
	Dir   string
	Files []string
}

// Error names all of them.
func (e *ExistsError) Error() string {
	return fmt.Sprintf("nothing was written: in %s there are %s; --force overwrites", e.Dir, strings.Join(e.Files, ", "))
}
