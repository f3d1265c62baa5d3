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
	// origins are the files by the keys of the objects, as texts. A file is listed once for each object, in the order in
	// which the engine rendered the files first.
	origins map[string][]origin
}

// origin is a source file of an object, as the engine rendered the object.
type origin struct {
	files            fs.FS
	file, kind, name string
	// guessed is set if the namespace of the object is not that of the manifest.
	guessed bool
}

// Add adds the source file of an object, which is one of files.
func (p *Places) Add(files fs.FS, o generator.Origin) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.origins == nil {
		p.origins = map[string][]origin{}
	}
	key := manifests.Key{
		Group: schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).Group, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name,
	}
	from := origin{files: files, file: o.File, kind: o.Kind, name: o.Name}
	p.add(key, from)
	// The scope of the type is not known here, so the object may have the namespace of the component, or none.
	if key.Namespace == "" {
		key.Namespace = p.Namespace
	} else {
		key.Namespace = ""
	}
	from.guessed = true
	p.add(key, from)
}

// add adds a file of an object. The same file of a later rendering replaces it.
func (p *Places) add(key manifests.Key, from origin) {
	text := key.String()
	known := func(o origin) bool { return o.file == from.file && o.guessed == from.guessed }
	if i := slices.IndexFunc(p.origins[text], known); i >= 0 {
		p.origins[text][i] = from
		return
	}
	p.origins[text] = append(p.origins[text], from)
}

// Of returns the file of an object, with the line of a field after a colon if that is known: "templates/web.yaml" or
// "web.yaml:12". The object is the text of its key. The line is that of the object if the field is empty or not found.
// The result is empty if the engine does not tell the file.
func (p *Places) Of(object, field string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.origins[object]
	if len(all) == 0 {
		return ""
	}
	from := all[0]
	for _, o := range all {
		if !o.guessed {
			from = o
		}
	}
	return from.place(from.lineOf(field))
}

// place returns the file, with a line after a colon unless the line is zero.
func (o origin) place(line int) string {
	if line == 0 || o.file == "" {
		return o.file
	}
	return fmt.Sprintf("%s:%d", o.file, line)
}

// lineOf returns the line of a field of the object in its file. If the field is not found, it is the line with the name
// of the object. The result is zero if no document of the file has the kind and the name of the object as they are, as
// in most templates.
func (o origin) lineOf(field string) int {
	found := o.documents()
	if len(found) == 0 {
		return 0
	}
	first := found[0]
	if at := lineOfPath(first.lines, field); at >= 0 {
		return first.begin + at + 1
	}
	return first.begin + first.named + 1
}

// document is a document with the kind and the name of an object.
type document struct {
	lines []string
	// begin is the number of the lines before the document, and named the index of the line with the name.
	begin, named int
}

// documents returns the documents of the file that have the kind and the name of the object as they are.
func (o origin) documents() (found []document) {
	if o.files == nil {
		return nil
	}
	text, err := fs.ReadFile(o.files, o.file)
	if err != nil {
		// The names of templates begin with the name of the chart, which is the root of the files.
		_, inChart, _ := strings.Cut(o.file, "/")
		if text, err = fs.ReadFile(o.files, inChart); err != nil {
			return nil
		}
	}
	begin := 0
	for part := range strings.SplitSeq(string(text), "\n---") {
		lines := strings.Split(part, "\n")
		if named := lineWith(lines, "name", o.name); named >= 0 && lineWith(lines, "kind", o.kind) >= 0 {
			found = append(found, document{lines: lines, begin: begin, named: named})
		}
		begin += len(lines)
	}
	return found
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
