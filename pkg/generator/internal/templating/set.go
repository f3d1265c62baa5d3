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

// Delimiters enclose the actions of templates. If they are empty, {{ and }} are used.
type Delimiters struct{ Left, Right string }

// Options configures parsing and execution of templates.
type Options struct {
	Delimiters Delimiters
	// EmptyMissingKeys renders an empty string for a missing key. Without this option a missing key is an error.
	EmptyMissingKeys bool
	// Functions are additional functions. They replace functions of the same name.
	Functions template.FuncMap
	// Chart selects the behaviour of Helm: all templates share their definitions, the last definition of a name is used, a
	// missing key renders an empty string, and only Helm's functions are available.
	Chart bool
}

// keptSessions is the maximum number of idle sessions that a set keeps for reuse.
const keptSessions = 2

// Set is a set of parsed templates that can include each other. It is safe for concurrent use.
type Set struct {
	options Options
	parser  instrument
	// groups maps each folder to the templates that its files can include. Folders share a group unless they define a
	// template that another folder defines too.
	groups map[string]*template.Template
	// idle contains idle sessions. It is not a sync.Pool: renderings are rare, so the garbage collector would always have
	// emptied the pool.
	idle chan *session
}

// parsedFile contains the templates of a file: the file itself, whose name is its path, and the templates that it
// defines.
type parsedFile struct {
	name  string
	trees map[string]*parse.Tree
}

// Parse parses files. Each file is a template whose name is the path of the file, and can include the templates of all
// other files. If several files define a template with the same name, a file uses the definition in its own folder, or
// else in the closest folder above, or else in the file whose path sorts last.
func Parse(files []rendering.File, options Options) (*Set, error) {
	s := &Set{options: options, parser: newInstrument(options), idle: make(chan *session, keptSessions)}
	var parsed []parsedFile
	var errs []error
	words := maxTemplateWords
	for _, file := range files {
		trees, err := s.parser.parse(file.Name, string(file.Data), options.Delimiters, &words)
		if words < 0 {
			return nil, fmt.Errorf("parse %w", err)
		}
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

// groupOf returns the templates that the files of a folder can include. A contested folder contains a definition that
// another folder contains, too. The definitions in contested folders from the root down to folder replace the
// definitions of other folders.
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

// contestedFolders returns the folders that define a template with the same name as a template in another folder.
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

// foldersTo returns the folders on the path from the root to folder, including both.
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

// extended adds the templates of files to a group, and returns the group.
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
