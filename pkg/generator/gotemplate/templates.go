package gotemplate

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"text/template"

	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
)

// parsedTemplates is a group of templates that see each other. Renderings clone the group, because they bind functions.
type parsedTemplates struct {
	group *template.Template
	// outputs are the names of the templates that give manifests, in order.
	outputs []string
}

// parseTemplates parses all templates of a source. Where two define the same name, the later path wins.
func parseTemplates(source fs.FS) (*parsedTemplates, error) {
	files, err := rendering.ReadFiles(source, isHidden)
	if err != nil {
		return nil, err
	}
	parsed := &parsedTemplates{group: template.New("").Funcs(pureFunctions()).Funcs((*rendition)(nil).functions())}
	var errs []error
	for _, file := range files {
		if !isTemplate(file.Name) {
			continue
		}
		if _, err := parsed.group.New(file.Name).Parse(string(file.Data)); err != nil {
			errs = append(errs, fmt.Errorf("parse %w", err))
			continue
		}
		if !strings.HasPrefix(path.Base(file.Name), "_") {
			parsed.outputs = append(parsed.outputs, file.Name)
		}
	}
	return parsed, errors.Join(errs...)
}

func isHidden(name string, _ fs.FileInfo) bool { return strings.HasPrefix(path.Base(name), ".") }

func isTemplate(name string) bool {
	switch path.Ext(name) {
	case ".yaml", ".yml", ".json", ".tpl", ".gotmpl":
		return true
	default:
		return false
	}
}
