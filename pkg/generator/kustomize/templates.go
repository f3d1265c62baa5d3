package kustomize

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	gitignore "github.com/monochromegane/go-gitignore"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/templating"
)

// templatedFolder is a folder with a ConfigFile. Its templates, and the templates of the folders that it includes, can
// use each other.
type templatedFolder struct {
	path string
	*configuration
	// err is the reason why the templates of the folder cannot be rendered. It is returned only if a kustomization refers
	// to a file of the folder.
	err error
	set *templating.Set
}

// output is the output file of a template.
type output struct {
	owner    *templatedFolder
	template string
}

// templatedSource holds the templates of a source.
type templatedSource struct {
	options Options
	files   []rendering.File
	read    templating.Files
	folders map[string]*templatedFolder
	// ordered are the folders in the order of their paths.
	ordered []*templatedFolder
	// templates contains the paths of all templates. outputs maps the paths of output files to their templates. Templates
	// that only contain definitions have no output.
	templates map[string]bool
	outputs   map[string]output
}

// newTemplatedSource returns the folders with a ConfigFile and their templates. It returns nil if there is no such
// folder.
func newTemplatedSource(files []rendering.File, options Options) *templatedSource {
	s := &templatedSource{
		options:   options,
		files:     files,
		folders:   map[string]*templatedFolder{},
		templates: map[string]bool{},
		outputs:   map[string]output{},
	}
	for _, file := range files {
		if path.Base(file.Name) != ConfigFile {
			continue
		}
		configuration, err := parseConfiguration(file.Name, file.Data, options.Limits.AliasBytes)
		folder := &templatedFolder{path: path.Dir(file.Name), configuration: configuration, err: err}
		s.folders[folder.path] = folder
		s.ordered = append(s.ordered, folder)
	}
	if len(s.folders) == 0 {
		return nil
	}
	s.read = templating.NewFiles(files)
	for _, folder := range s.ordered {
		if folder.err == nil {
			folder.err = s.parse(folder)
		}
		if folder.err != nil {
			s.spoil(folder)
		}
	}
	return s
}

// parse parses the templates of a folder.
func (s *templatedSource) parse(folder *templatedFolder) error {
	ignored, err := s.ignoredIn(folder)
	if err != nil {
		return err
	}
	if err := s.checkIncluded(folder); err != nil {
		return err
	}
	var templates []rendering.File
	var errs []error
	for _, file := range s.files {
		if s.folderOf(file.Name) != folder || !folder.isTemplate(file.Name) || ignored(file.Name) {
			continue
		}
		templates = append(templates, file)
		s.templates[file.Name] = true
		if !strings.HasPrefix(path.Base(file.Name), "_") {
			errs = append(errs, s.addOutput(folder, file.Name))
		}
	}
	folder.set, err = templating.Parse(templates, templating.Options{
		Delimiters:       templating.Delimiters(folder.Delimiters),
		EmptyMissingKeys: folder.MissingKeys == "Empty",
		Functions:        s.options.Functions,
	})
	return errors.Join(append(errs, err)...)
}

func (s *templatedSource) addOutput(folder *templatedFolder, template string) error {
	name := folder.outputOf(template)
	_, taken := s.outputs[name]
	if name != template {
		taken = taken || slices.ContainsFunc(s.files, func(file rendering.File) bool { return file.Name == name })
	}
	if taken {
		return fmt.Errorf("%s: the output file of the template is %s, which already exists: remove or rename one of them",
			template, name)
	}
	s.outputs[name] = output{owner: folder, template: template}
	return nil
}

// spoil makes the error of an invalid folder the result of reading any file in it.
func (s *templatedSource) spoil(folder *templatedFolder) {
	for _, file := range s.files {
		if s.folderOf(file.Name) == folder {
			s.outputs[file.Name] = output{owner: folder, template: file.Name}
		}
	}
}

// checkIncluded returns an error for included folders that do not exist.
func (s *templatedSource) checkIncluded(folder *templatedFolder) error {
	for _, entry := range folder.Include {
		target := path.Join(folder.path, entry)
		if !slices.ContainsFunc(s.files, func(file rendering.File) bool { return within(target, file.Name) }) {
			return fmt.Errorf("%s: include: %q is not a folder of the source", path.Join(folder.path, ConfigFile), entry)
		}
	}
	return nil
}

// within reports whether a path is in a folder, or below it.
func within(folder, name string) bool { return folder == "." || strings.HasPrefix(name, folder+"/") }

// folderOf returns the templated folder of a file: the closest folder above it with a ConfigFile, or else a folder that
// includes it.
func (s *templatedSource) folderOf(name string) *templatedFolder {
	for folder := path.Dir(name); ; folder = path.Dir(folder) {
		if found := s.folders[folder]; found != nil {
			return found
		}
		if folder == "." {
			break
		}
	}
	for _, candidate := range s.ordered {
		if candidate.configuration != nil &&
			slices.ContainsFunc(
				candidate.Include,
				func(entry string) bool { return within(path.Join(candidate.path, entry), name) },
			) {
			return candidate
		}
	}
	return nil
}

// ignoredIn returns a function that reports whether a file is ignored, by the ignore file of the folder. Ignored files
// are not templates.
func (s *templatedSource) ignoredIn(folder *templatedFolder) (func(name string) bool, error) {
	if folder.IgnoreFile == "" {
		return func(string) bool { return false }, nil
	}
	file := path.Join(folder.path, folder.IgnoreFile)
	at := slices.IndexFunc(s.files, func(candidate rendering.File) bool { return candidate.Name == file })
	if at < 0 {
		return nil, fmt.Errorf(
			"%s: ignoreFile: %q does not exist in the source",
			path.Join(folder.path, ConfigFile),
			folder.IgnoreFile,
		)
	}
	patterns := gitignore.NewGitIgnoreFromReader(folder.path, bytes.NewReader(s.files[at].Data))
	return func(name string) bool {
		if name == file || patterns.Match(name, false) {
			return true
		}
		// Files in an ignored folder are ignored too.
		for above := path.Dir(name); above != folder.path && above != "."; above = path.Dir(above) {
			if patterns.Match(above, true) {
				return true
			}
		}
		return false
	}, nil
}

// isTemplate reports whether a file is a template, or contains definitions of templates.
func (c *configuration) isTemplate(name string) bool {
	base := path.Base(name)
	isHelper := strings.HasPrefix(base, "_") && strings.HasSuffix(base, ".tpl")
	switch {
	case base == ConfigFile:
		return false
	case c.Suffix != "":
		return isHelper || strings.HasSuffix(base, c.Suffix)
	default:
		return isHelper || isYAML(base) || base == "Kustomization"
	}
}

// outputOf returns the path of the output file of a template: its own path without the suffix. The suffix is kept if
// kustomize would not recognise the file as a manifest without it.
func (c *configuration) outputOf(name string) string {
	if c.Suffix == "" || isYAML(c.Suffix) {
		return name
	}
	return strings.TrimSuffix(name, c.Suffix)
}

func isYAML(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name))
}

// rendition renders the templates of a source for one build. A template is rendered when its output file is read.
// Therefore templates that no kustomization refers to need no values.
type rendition struct {
	source   *templatedSource
	request  generator.Request
	budget   *templating.Budget
	rendered map[string][]byte
}

// read returns the output of a template.
func (r *rendition) read(name string, from output) ([]byte, error) {
	if text, done := r.rendered[name]; done {
		return text, nil
	}
	if from.owner.err != nil {
		return nil, from.owner.err
	}
	files, err := from.owner.set.Render(templating.Input{
		Request: r.request,
		Values:  templating.ValuesOf(r.request.Parameters, from.owner.defaults),
		Files:   r.source.read.In(from.owner.path),
		Budget:  r.budget,
	}, []string{from.template})
	if err != nil {
		return nil, err
	}
	r.rendered[name] = files[0].Data
	return files[0].Data, nil
}
