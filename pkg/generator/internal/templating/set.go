package templating

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
)

// Delimiters enclose the actions of templates; {{ and }} where they are empty.
type Delimiters struct{ Left, Right string }

// Options configures parsing and execution of templates.
type Options struct {
	Delimiters Delimiters
	// EmptyMissingKeys renders nothing for a missing key; otherwise it is an error.
	EmptyMissingKeys bool
	// Functions are additional functions, which take precedence over those of the table.
	Functions template.FuncMap
	// Chart makes of the templates what Helm makes of them: all of them see the same definitions, of which the last
	// counts, a missing key is empty in the end, and there are Helm's functions and no others.
	Chart bool
}

// keptSessions is the maximum number of idle sessions of a set; further concurrent renderings create their own.
const keptSessions = 2

// Set is a group of templates that see each other. It is safe for concurrent use.
type Set struct {
	options Options
	parser  instrument
	// groups holds the templates as the files of a folder see them. Folders without definitions of their own that
	// others have, too, share one.
	groups map[string]*template.Template
	// idle are bound copies of the groups. Renderings are rare, so what the garbage collector empties would always be
	// empty.
	idle chan *session
}

// parsedFile is what a file defines: itself, under its path, and the templates in it.
type parsedFile struct {
	name  string
	trees map[string]*parse.Tree
}

// Parse parses files, each of which is a template named by its path. A file sees the templates of all others. Where
// several define one of the same name it gets that of its own folder, else of the closest folder above, else of the
// last path.
func Parse(files []rendering.File, options Options) (*Set, error) {
	s := &Set{options: options, parser: newInstrument(options), idle: make(chan *session, keptSessions)}
	var parsed []parsedFile
	var errs []error
	for _, file := range files {
		trees, err := s.parser.parse(file.Name, string(file.Data), options.Delimiters)
		if err != nil {
			errs = append(errs, fmt.Errorf("parse %w", err))
			continue
		}
		parsed = append(parsed, parsedFile{name: file.Name, trees: trees})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var err error
	if options.Chart {
		group, err := extended(template.New(""), parsed)
		s.groups = map[string]*template.Template{chartGroup: group}
		return s, err
	}
	if s.groups, err = groupsOf(parsed); err != nil {
		return nil, err
	}
	return s, nil
}

// groupsOf returns the group of each folder that holds a file.
func groupsOf(files []parsedFile) (map[string]*template.Template, error) {
	all, err := extended(template.New(""), files)
	if err != nil {
		return nil, err
	}
	contested := contestedFolders(files)
	groups := map[string]*template.Template{}
	for _, file := range files {
		folder := path.Dir(file.name)
		if groups[folder] != nil {
			continue
		}
		if groups[folder], err = groupOf(folder, all, files, contested); err != nil {
			return nil, err
		}
	}
	return groups, nil
}

// groupOf adds the contested definitions that are nearest to a folder to those of all files.
func groupOf(
	folder string,
	all *template.Template,
	files []parsedFile,
	contested map[string]bool,
) (*template.Template, error) {
	group := all
	for _, above := range foldersTo(folder) {
		if !contested[above] {
			continue
		}
		clone, err := group.Clone()
		if err != nil {
			return nil, fmt.Errorf("clone the templates: %w", err)
		}
		var own []parsedFile
		for _, file := range files {
			if path.Dir(file.name) == above {
				own = append(own, file)
			}
		}
		if group, err = extended(clone, own); err != nil {
			return nil, err
		}
	}
	return group, nil
}

// contestedFolders returns the folders that define something which another folder defines, too.
func contestedFolders(files []parsedFile) map[string]bool {
	first := map[string]string{}
	contested := map[string]bool{}
	for _, file := range files {
		folder := path.Dir(file.name)
		for name := range file.trees {
			other, defined := first[name]
			switch {
			case !defined:
				first[name] = folder
			case other != folder:
				contested[other], contested[folder] = true, true
			}
		}
	}
	return contested
}

// foldersTo returns the folders from the top to the one given.
func foldersTo(folder string) []string {
	folders := []string{"."}
	if folder == "." {
		return folders
	}
	parts := strings.Split(folder, "/")
	for i := range parts {
		folders = append(folders, strings.Join(parts[:i+1], "/"))
	}
	return folders
}

// extended adds what files define to a group.
func extended(group *template.Template, files []parsedFile) (*template.Template, error) {
	for _, file := range files {
		for name, tree := range file.trees {
			if _, err := group.AddParseTree(name, tree); err != nil {
				return nil, fmt.Errorf("%s: template %q: %w", file.name, name, err)
			}
		}
	}
	return group, nil
}
