package render

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/fairlead-io/fairlead/internal/validate"
	"github.com/fairlead-io/fairlead/internal/validate/builtin"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Problem is a fault of a rendered object. File is the file of the object in the source, empty if the engine does not
// tell it. Line is the line of the field, or of the object, if the file contains the object as it is; otherwise zero.
type Problem struct {
	Object  manifests.Key
	File    string
	Line    int
	Message string
}

// String returns the problem in one line.
func (p Problem) String() string {
	place := p.File
	if p.Line > 0 {
		place = fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	text := fmt.Sprintf("%s: %s", p.Object, p.Message)
	if place == "" {
		return text
	}
	return place + ": " + text
}

// Validate renders the dependents of a source, and returns the faults for which an API server would refuse them.
func Validate(ctx context.Context, req Request) ([]Problem, int, error) {
	files := map[string]string{}
	req.locate = func(o generator.Origin) {
		files[place(o.APIVersion, o.Kind, o.Namespace, o.Name)] = o.File
		files[place(o.APIVersion, o.Kind, "", o.Name)] = o.File
	}
	objects, err := Dependents(ctx, req)
	if err != nil {
		return nil, 0, err
	}
	invalid, err := validate.Set(objects, builtin.Types())
	if err != nil {
		return nil, 0, err
	}
	var problems []Problem
	for _, i := range invalid {
		body := i.Object.Body
		file := cmp.Or(files[place(body.GetAPIVersion(), body.GetKind(), body.GetNamespace(), body.GetName())],
			files[place(body.GetAPIVersion(), body.GetKind(), "", body.GetName())])
		for _, f := range i.Faults {
			problems = append(problems, Problem{
				Object: i.Object.Key, File: file, Line: lineOf(req, file, i.Object.Key, f.Field), Message: f.String(),
			})
		}
	}
	return problems, len(objects), nil
}

func place(apiVersion, kind, namespace, name string) string {
	return strings.Join([]string{apiVersion, kind, namespace, name}, "\n")
}

// lineOf returns the line of a field of an object in a source file: the first line below the beginning of the document
// that begins with the last name of the path of the field, or else the line with the name of the object. The result is
// zero if no document of the file has the kind and the name of the object as they are, as in most templates.
func lineOf(req Request, file string, key manifests.Key, field string) int {
	if file == "" || req.Source == nil {
		return 0
	}
	text, err := fs.ReadFile(req.Source, file)
	if err != nil {
		if text, err = fs.ReadFile(req.Source, path.Join(req.Path, file)); err != nil {
			return 0
		}
	}
	begin := 0
	for document := range strings.SplitSeq(string(text), "\n---") {
		lines := strings.Split(document, "\n")
		named := lineWith(lines, "name", key.Name)
		if lineWith(lines, "kind", key.Kind) >= 0 && named >= 0 {
			names := strings.FieldsFunc(field, func(r rune) bool { return strings.ContainsRune(".[]", r) })
			if len(names) > 0 {
				if at := lineWith(lines, names[len(names)-1], ""); at >= 0 {
					return begin + at + 1
				}
			}
			return begin + named + 1
		}
		begin += len(lines)
	}
	return 0
}

// lineWith returns the index of the first line that sets a field, to a value if it is not empty; -1 if there is none.
func lineWith(lines []string, field, value string) int {
	for i, line := range lines {
		name, rest, ok := strings.Cut(strings.TrimLeft(strings.TrimSpace(line), "- "), ":")
		if ok && strings.Trim(name, `"'`) == field && (value == "" || strings.Trim(strings.TrimSpace(rest), `"'`) == value) {
			return i
		}
	}
	return -1
}
