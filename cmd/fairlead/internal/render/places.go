package render

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Places are the source files of rendered objects. The zero value is ready for use.
type Places struct {
	// Namespace is the namespace of objects without one.
	Namespace string

	mu sync.Mutex
	// origins are the files by the keys of the objects, as texts.
	origins map[string]origin
}

// origin is a source file of an object, as the engine rendered the object.
type origin struct {
	files            fs.FS
	file, kind, name string
}

// Add adds the source file of an object, which is one of files.
func (p *Places) Add(files fs.FS, o generator.Origin) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.origins == nil {
		p.origins = map[string]origin{}
	}
	key := manifests.Key{
		Group: schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).Group, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name,
	}
	from := origin{files: files, file: o.File, kind: o.Kind, name: o.Name}
	p.origins[key.String()] = from
	// The scope of the type is not known here, so the object may have the namespace of the component, or none.
	if key.Namespace == "" {
		key.Namespace = p.Namespace
	} else {
		key.Namespace = ""
	}
	if _, known := p.origins[key.String()]; !known {
		p.origins[key.String()] = from
	}
}

// Of returns the file of an object, with the line of a field after a colon if that is known: "templates/web.yaml" or
// "web.yaml:12". The object is the text of its key. The line is that of the object if the field is empty or not found.
// The result is empty if the engine does not tell the file.
func (p *Places) Of(object, field string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	from, known := p.origins[object]
	if !known || from.file == "" {
		return ""
	}
	if line := from.lineOf(field); line > 0 {
		return fmt.Sprintf("%s:%d", from.file, line)
	}
	return from.file
}

// lineOf returns the line of a field of the object in its file. If the field is not found, it is the line with the name
// of the object. The result is zero if no document of the file has the kind and the name of the object as they are, as
// in most templates.
func (o origin) lineOf(field string) int {
	if o.files == nil {
		return 0
	}
	text, err := fs.ReadFile(o.files, o.file)
	if err != nil {
		// The names of templates begin with the name of the chart, which is the root of the files.
		_, inChart, _ := strings.Cut(o.file, "/")
		if text, err = fs.ReadFile(o.files, inChart); err != nil {
			return 0
		}
	}
	begin := 0
	for document := range strings.SplitSeq(string(text), "\n---") {
		lines := strings.Split(document, "\n")
		named := lineWith(lines, "name", o.name)
		if lineWith(lines, "kind", o.kind) < 0 || named < 0 {
			begin += len(lines)
			continue
		}
		if at := lineOfPath(lines, field); at >= 0 {
			return begin + at + 1
		}
		return begin + named + 1
	}
	return 0
}

// lineOfPath returns the index of the line with the last field of a path, below the lines of the other fields; -1 if
// there is none.
func lineOfPath(lines []string, path string) int {
	names := strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]", r) })
	found, at := -1, 0
	for i, name := range names {
		next := lineWith(lines[at:], name, "")
		if next >= 0 {
			at += next
		}
		if i == len(names)-1 && next >= 0 {
			found = at
		}
	}
	return found
}

// lineWith returns the index of the first line that sets a field, to a value if it is not empty; -1 if there is none.
func lineWith(lines []string, field, value string) int {
	return slices.IndexFunc(lines, func(line string) bool {
		name, rest, ok := strings.Cut(strings.TrimLeft(strings.TrimSpace(line), "- "), ":")
		return ok && strings.Trim(name, `"'`) == field &&
			(value == "" || strings.Trim(strings.TrimSpace(rest), `"'`) == value)
	})
}
