package templating

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"text/template"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
)

// noValue is the output of text/template for a missing key.
const noValue = "<no value>"

// Input is the input of a rendering, except the templates.
type Input struct {
	Request generator.Request
	// Values is the value of .Values in templates. Templates may change it.
	Values map[string]any
	// Files are the files that readFile and similar functions read.
	Files Files
	// Budget limits the rendering. Renderings of several sets can share a budget.
	Budget *Budget
}

// Render executes the templates with the given names, which are paths of files, and returns their output in the same
// order. The errors of all files are joined. Each error names the file and line, and the file and line of each included
// template that leads to it.
func (s *Set) Render(in Input, names []string) ([]rendering.File, error) {
	session := s.session()
	session.Input = in
	files, err := session.render(names)
	// The session is reused. The input of this component must not stay in memory, or be visible to the next rendering.
	session.Input, session.group = Input{}, nil
	select {
	case s.idle <- session:
	default:
	}
	return files, err
}

func (s *Set) session() *session {
	select {
	case idle := <-s.idle:
		return idle
	default:
		return newSession(s)
	}
}

// session is a copy of the templates of a set, whose functions read the input of the current rendering. It serves one
// rendering at a time.
type session struct {
	Input
	set       *Set
	functions template.FuncMap
	groups    map[*template.Template]*template.Template
	// group contains the templates that the currently rendered file can include.
	group *template.Template
}

func newSession(set *Set) *session {
	s := &session{set: set, groups: map[*template.Template]*template.Template{}}
	s.functions = tableOf(set.options, s)
	return s
}

func (s *session) render(names []string) ([]rendering.File, error) {
	data := dataOf(s.Request, s.Values)
	files := make([]rendering.File, 0, len(names))
	var errs []error
	for _, name := range names {
		group, err := s.bound(s.set.groups[path.Dir(name)])
		if err != nil {
			return nil, err
		}
		s.group = group
		text, err := s.execute(group.Lookup(name), data)
		if ended := s.Budget.ctx.Err(); ended != nil {
			return nil, ended
		}
		if err != nil {
			errs = append(errs, renderError(name, err))
			if s.Budget.isExhausted() {
				break
			}
			continue
		}
		files = append(files, rendering.File{Name: name, Data: []byte(text)})
	}
	return files, errors.Join(errs...)
}

// bound returns this session's copy of a group.
func (s *session) bound(group *template.Template) (*template.Template, error) {
	if known := s.groups[group]; known != nil {
		return known, nil
	}
	if group == nil {
		return nil, errors.New("no templates were parsed for this folder")
	}
	clone, err := s.clone(group)
	if err == nil {
		s.groups[group] = clone
	}
	return clone, err
}

// clone copies a group, and sets the functions and options of the copy. Clone of text/template does not copy options.
func (s *session) clone(group *template.Template) (*template.Template, error) {
	clone, err := group.Clone()
	if err != nil {
		return nil, fmt.Errorf("clone the templates: %w", err)
	}
	clone.Funcs(s.functions)
	if s.set.options.EmptyMissingKeys || s.set.options.Chart {
		return clone.Option("missingkey=zero"), nil
	}
	return clone.Option("missingkey=error"), nil
}

// firstPlace finds the file and line of the outermost template in an error of text/template.
var firstPlace = regexp.MustCompile(`^template: (\S+:\d+):`)

// renderError returns the error of a template with the file and line of each nested template. If a limit was exceeded,
// only the outermost file and line are named, because the nesting may be too deep to read.
func renderError(file string, err error) error {
	if limit, ok := errors.AsType[*limitError](err); ok {
		if place := firstPlace.FindStringSubmatch(err.Error()); place != nil {
			file = place[1]
		}
		return fmt.Errorf("render template: %s: %w", file, limit)
	}
	return fmt.Errorf("render %w", err)
}

func (s *session) include(name string, data any) (string, error) {
	included := s.group.Lookup(name)
	if included == nil {
		return "", fmt.Errorf("no template %q", name)
	}
	return s.execute(included, data)
}

// tpl executes a text as a template. Templates that the text defines are visible only inside the text.
func (s *session) tpl(text string, data any) (string, error) {
	words := maxTemplateWords
	trees, err := s.set.parser.parse("tpl", text, s.set.options.Delimiters, &words)
	if err != nil {
		return "", err
	}
	outer := s.group
	defer func() { s.group = outer }()
	if len(trees) > 1 {
		if s.group, err = s.clone(outer); err != nil {
			return "", err
		}
		for name, tree := range trees {
			if _, err := s.group.AddParseTree(name, tree); err != nil {
				return "", err
			}
		}
	}
	unnamed := s.group.New("tpl")
	unnamed.Tree = trees["tpl"]
	if unnamed.Tree == nil {
		return "", nil
	}
	return s.execute(unnamed, data)
}

// execute executes a template within the budget, and returns its output.
func (s *session) execute(t *template.Template, data any) (string, error) {
	if t == nil {
		return "", errors.New("the template does not exist")
	}
	if s.Budget.depth == s.Budget.limits.Depth {
		return "", &limitError{
			fmt.Sprintf("templates are nested more than %d levels deep: check for an endless recursion", s.Budget.limits.Depth),
		}
	}
	s.Budget.depth++
	defer func() { s.Budget.depth-- }()
	output := &output{budget: s.Budget}
	if err := t.Execute(output, data); err != nil {
		return "", err
	}
	text := output.String()
	if s.set.options.EmptyMissingKeys {
		text = strings.ReplaceAll(text, noValue, "")
	}
	return text, nil
}

// output collects the output of a template. Its errors end the execution.
type output struct {
	strings.Builder
	budget *Budget
}

// Write implements io.Writer.
func (o *output) Write(text []byte) (int, error) {
	if err := o.budget.spend(len(text)); err != nil {
		return 0, err
	}
	return o.Builder.Write(text)
}
