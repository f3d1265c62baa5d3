package settingtext

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/expression"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const (
	// MaxExports is the maximum number of exports of an object.
	MaxExports = 16
	// MaxExportedSize is the maximum size of the values that an object exports, as JSON, in bytes.
	MaxExportedSize = 4 << 10
	// MaxExportName is the maximum length of the name of an export.
	MaxExportName = 63
)

// ExportScope is the scope of the expressions of exports.
var ExportScope = expression.Scope{Variables: []string{"self"}}

var exportName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// IsExportName reports whether a text can be the name of an export.
func IsExportName(name string) bool {
	return exportName.MatchString(name) && len(name) <= MaxExportName
}

// ParseExports parses a list of exports, NAME=EXPRESSION. The elements are separated by commas or lines; commas and
// lines within brackets and quotes belong to an expression. Empty elements are ignored.
func ParseExports(text string) ([]manifests.Export, error) {
	elements, err := splitList(text)
	if err != nil {
		return nil, err
	}
	var exports []manifests.Export
	var errs []error
	for _, element := range elements {
		e, err := parseExport(element)
		if err == nil && slices.ContainsFunc(exports, func(other manifests.Export) bool { return other.Name == e.Name }) {
			err = fmt.Errorf("the name %s is used twice", e.Name)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		exports = append(exports, e)
	}
	switch {
	case len(elements) == 0:
		errs = append(errs, errors.New("it is empty; write NAME=EXPRESSION, such as host=self.status.host"))
	case len(elements) > MaxExports:
		errs = append(errs, fmt.Errorf("it has %d exports, more than %d", len(elements), MaxExports))
	}
	return exports, errors.Join(errs...)
}

func parseExport(element string) (manifests.Export, error) {
	name, text, found := strings.Cut(element, "=")
	e := manifests.Export{Name: strings.TrimSpace(name), Expression: strings.TrimSpace(text)}
	if !found || !IsExportName(e.Name) {
		return manifests.Export{}, fmt.Errorf(
			"%.80q is not of the form NAME=EXPRESSION, with letters, digits and _ in the name",
			element,
		)
	}
	if e.Name == "self" {
		return manifests.Export{}, errors.New("the name self is reserved for the object of the expression")
	}
	if _, err := expression.Compile(e.Name, expression.Scope{Variables: []string{e.Name}}); err != nil {
		return manifests.Export{}, fmt.Errorf("the name %s has a meaning in CEL; use another name", e.Name)
	}
	if _, err := expression.Compile(e.Expression, ExportScope); err != nil {
		return manifests.Export{}, fmt.Errorf("%s: %w", e.Name, err)
	}
	return e, nil
}

// splitList splits a list at the commas and lines that are outside of brackets and quotes.
func splitList(text string) ([]string, error) {
	var elements []string
	start, depth := 0, 0
	add := func(end int) {
		if element := strings.TrimSpace(text[start:end]); element != "" {
			elements = append(elements, element)
		}
	}
	for i := 0; i < len(text); {
		switch c := text[i]; c {
		case '"', '\'':
			end := expression.EndOfQuote(text, i)
			if end < 0 {
				return nil, fmt.Errorf("the quote %c at position %d is not closed", c, i+1)
			}
			i = end
			continue
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ',', '\n':
			if depth <= 0 {
				add(i)
				start = i + 1
			}
		}
		i++
	}
	add(len(text))
	return elements, nil
}

// exports parses the exports among the annotations.
func (p *settingsParser) exports() []manifests.Export {
	text, ok := p.value(manifests.AnnotationExport)
	if !ok {
		return nil
	}
	exports, err := ParseExports(text)
	if err != nil {
		p.fail(manifests.AnnotationExport, "%w", err)
	}
	return exports
}

// CheckFlow returns errors for exports of objects that are purged, and for exports and bindings of objects that are not
// applied with the component.
func (p *settingsParser) checkFlow(s manifests.Settings) {
	if len(s.Exports()) > 0 && s.PurgeOrder != nil {
		p.fail(
			manifests.AnnotationExport,
			"has no values after the object is purged, because of %s; remove one of them",
			manifests.AnnotationPurgeOrder,
		)
	}
	if s.Phase == manifests.PhaseApply {
		return
	}
	if len(s.Exports()) > 0 {
		p.fail(manifests.AnnotationExport, "has no effect in the phase %s of the deletion; remove one of them", s.Phase)
	}
	if s.Binds() {
		p.fail(manifests.AnnotationBind, "has no effect in the phase %s of the deletion; remove one of them", s.Phase)
	}
}
