package gotemplate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/templating"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// parsedTemplates are the templates of a source. Renderings share them.
type parsedTemplates struct {
	set *templating.Set
	// files are the files that templates can read.
	files templating.Files
	// outputs are the names of the templates with output, in order.
	outputs []string
}

// parseTemplates parses all templates of a source.
func parseTemplates(source fs.FS, options Options) (*parsedTemplates, error) {
	switch options.MissingKeys {
	case "", MissingKeysFail, MissingKeysEmpty:
	default:
		return nil, fmt.Errorf(
			"option MissingKeys: %q is neither %s nor %s",
			options.MissingKeys,
			MissingKeysFail,
			MissingKeysEmpty,
		)
	}
	files, err := rendering.ReadFiles(source, isHidden)
	if err != nil {
		return nil, err
	}
	parsed := &parsedTemplates{files: templating.NewFiles(files)}
	var templates []rendering.File
	for _, file := range files {
		if !isTemplate(file.Name) {
			continue
		}
		templates = append(templates, file)
		if !strings.HasPrefix(path.Base(file.Name), "_") {
			parsed.outputs = append(parsed.outputs, file.Name)
		}
	}
	parsed.set, err = templating.Parse(templates, templating.Options{
		Delimiters:       templating.Delimiters{Left: options.LeftDelimiter, Right: options.RightDelimiter},
		EmptyMissingKeys: options.MissingKeys == MissingKeysEmpty,
		Functions:        options.Functions,
	})
	return parsed, err
}

// render returns the manifests of all templates, in the order of their paths.
func (p *parsedTemplates) render(
	ctx context.Context,
	budget *templating.Budget,
	req generator.Request,
	limits generator.Limits,
) ([]*unstructured.Unstructured, error) {
	rendered, err := p.set.Render(templating.Input{
		Request: req,
		Values:  templating.ValuesOf(req.Parameters, nil),
		Files:   p.files,
		Budget:  budget,
	}, p.outputs)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	errs := []error{err}
	decoder := manifests.Decoder{
		MaxObjects: limits.Objects, MaxAliasBytes: limits.AliasBytes, MaxNodes: limits.Nodes, Warn: rendering.Warn(req),
	}
	var objects []*unstructured.Unstructured
	var invalid []error
	for _, file := range rendered {
		decoded, err := decoder.Decode(file.Name+" (rendered)", file.Data)
		invalid = append(invalid, err)
		req.Located(file.Name, decoded...)
		objects = append(objects, decoded...)
	}
	if err := errors.Join(invalid...); err != nil {
		errs = append(errs, &generator.RenderedError{Err: err, Output: rendering.Stream(rendered)})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return objects, nil
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
