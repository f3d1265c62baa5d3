package gotemplate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// maxDepth bounds how deep include and tpl nest. A Go program cannot survive an exhausted stack, so a recursion must end before.
const maxDepth = 200

// noValue is what text/template prints for a missing key.
const noValue = "<no value>"

// rendition is one rendering. It lives in one goroutine.
type rendition struct {
	ctx     context.Context
	req     generator.Request
	options Options

	depth   int
	written int
}

// render returns the manifests that all templates give, in the order of their paths.
func (p *parsedTemplates) render(ctx context.Context, req generator.Request, options Options) ([]*unstructured.Unstructured, error) {
	r := &rendition{ctx: ctx, req: req, options: options}
	group, err := p.group.Clone()
	if err != nil {
		return nil, fmt.Errorf("clone the templates: %w", err)
	}
	r.bind(group)
	data := r.data()
	var objects []*unstructured.Unstructured
	var errs []error
	for _, name := range p.outputs {
		text, err := r.execute(group.Lookup(name), data)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			errs = append(errs, renderError(name, err))
			continue
		}
		decoded, err := manifests.Decode(name+" (rendered)", []byte(text))
		errs = append(errs, err)
		objects = append(objects, decoded...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return objects, nil
}

// limitError says that a rendering went beyond a bound.
type limitError struct{ message string }

// Error returns the message.
func (e *limitError) Error() string { return e.message }

// renderError wraps the error of a file's template. text/template names the file and line of each template on the way; at a bound the
// way is too long to read.
func renderError(file string, err error) error {
	if limit, ok := errors.AsType[*limitError](err); ok {
		return fmt.Errorf("render template: %s: %w", file, limit)
	}
	return fmt.Errorf("render %w", err)
}

// bind gives a group the functions and options of this rendering. A clone of a group loses its options.
func (r *rendition) bind(group *template.Template) {
	functions := r.functions()
	functions["include"] = func(name string, data any) (string, error) { return r.include(group, name, data) }
	functions["tpl"] = func(text string, data any) (string, error) { return r.tpl(group, text, data) }
	group.Funcs(functions)
	if r.options.MissingKeys == MissingKeysEmpty {
		group.Option("missingkey=zero")
	} else {
		group.Option("missingkey=error")
	}
}

// functions returns the functions that depend on the request. Those of a nil rendition are there to be known to the parser; include and tpl need a group.
func (r *rendition) functions() template.FuncMap {
	return template.FuncMap{
		"include":   func(string, any) (string, error) { return "", nil },
		"tpl":       func(string, any) (string, error) { return "", nil },
		"lookup":    r.lookup,
		"name":      func() string { return r.req.Name },
		"namespace": func() string { return r.req.Namespace },
		"revision":  func() int64 { return r.req.Revision },
		"digest":    func() string { return r.req.Digest },
	}
}

// data returns the dot of the files.
func (r *rendition) data() map[string]any {
	return map[string]any{
		"Values":       rendering.CopyValues(r.req.Parameters, nil),
		"Name":         r.req.Name,
		"Namespace":    r.req.Namespace,
		"Revision":     r.req.Revision,
		"Digest":       r.req.Digest,
		"Capabilities": capabilitiesOf(r.req.Capabilities),
	}
}

func (r *rendition) include(group *template.Template, name string, data any) (string, error) {
	included := group.Lookup(name)
	if included == nil {
		return "", fmt.Errorf("include: no template %q", name)
	}
	return r.execute(included, data)
}

// tpl parses text beside a clone of the group, so that what it defines stays with it.
func (r *rendition) tpl(group *template.Template, text string, data any) (string, error) {
	clone, err := group.Clone()
	if err != nil {
		return "", fmt.Errorf("tpl: %w", err)
	}
	r.bind(clone)
	parsed, err := clone.New("tpl").Parse(text)
	if err != nil {
		return "", fmt.Errorf("tpl: %w", err)
	}
	return r.execute(parsed, data)
}

// execute returns the output of a template, within the bounds of the rendering.
func (r *rendition) execute(t *template.Template, data any) (string, error) {
	if r.depth == maxDepth {
		return "", &limitError{fmt.Sprintf("templates include each other more than %d deep: end the recursion", maxDepth)}
	}
	r.depth++
	defer func() { r.depth-- }()
	output := &output{rendition: r}
	if err := t.Execute(output, data); err != nil {
		return "", err
	}
	text := output.String()
	if r.options.MissingKeys == MissingKeysEmpty {
		text = strings.ReplaceAll(text, noValue, "")
	}
	return text, nil
}

// output collects what a template writes. Its errors stop the template.
type output struct {
	strings.Builder
	rendition *rendition
}

// Write implements io.Writer.
func (o *output) Write(text []byte) (int, error) {
	r := o.rendition
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	if r.written += len(text); r.written > r.options.MaxOutputBytes {
		return 0, &limitError{fmt.Sprintf("the templates write more than %d bytes", r.options.MaxOutputBytes)}
	}
	return o.Builder.Write(text)
}

// kubeVersion is the version of the target as templates see it.
type kubeVersion struct{ Version, Major, Minor string }

// String returns the whole version.
func (v kubeVersion) String() string { return v.Version }

// apiVersions are the served API versions.
type apiVersions []string

// Has says whether a group/version, or a group/version/Kind, is served.
func (v apiVersions) Has(version string) bool { return slices.Contains(v, version) }

func capabilitiesOf(target generator.Capabilities) map[string]any {
	return map[string]any{
		"KubeVersion": kubeVersion{Version: target.Version.GitVersion, Major: target.Version.Major, Minor: target.Version.Minor},
		"APIVersions": apiVersions(target.APIVersions),
	}
}
