package scaffold

import (
	"bytes"
	"embed"
	"fmt"
	"go/format"
	"path"
	"strings"
	"text/template"
)

//go:embed all:template
var templates embed.FS

// File is a file of a project.
type File struct {
	// Path is relative to the project, with slashes.
	Path    string
	Content []byte
}

// renderAll renders all templates of a project. Go code is formatted, and begins with the header of the project.
func renderAll(f facts) ([]File, error) {
	entries := layout(f.Options)
	files := make([]File, 0, len(entries))
	for _, e := range entries {
		content, err := renderFile(e, f)
		if err != nil {
			return nil, fmt.Errorf("template of %s: %w", e.path, err)
		}
		files = append(files, File{Path: e.path, Content: content})
	}
	return files, nil
}

func renderFile(e entry, f facts) ([]byte, error) {
	text, err := templates.ReadFile(path.Join("template", e.template))
	if err != nil {
		return nil, err
	}
	// The delimiters are not {{ and }}, because the files contain templates of Helm and of GitHub workflows.
	parsed, err := template.New(e.template).Delims("[[", "]]").Option("missingkey=error").
		Funcs(template.FuncMap{"lowerFirst": lowerFirst}).Parse(string(text))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, f); err != nil {
		return nil, err
	}
	if path.Ext(e.path) != ".go" {
		return out.Bytes(), nil
	}
	if header := f.Header(); header != "" {
		return format.Source(append([]byte(header+"\n\n"), out.Bytes()...))
	}
	return format.Source(out.Bytes())
}

func lowerFirst(word string) string {
	if word == "" {
		return ""
	}
	return strings.ToLower(word[:1]) + word[1:]
}
