package valuetypes

import (
	"fmt"
	"strings"
)

// printer writes types as Go code.
type printer struct {
	// taken contains the names of the types that are already declared.
	taken map[string]bool
	out   strings.Builder
	// imports are the packages that the code imports.
	imports map[string]bool
}

// The import specs of the packages that the code may import.
const (
	packageFree        = `apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"`
	packageIntOrString = `"k8s.io/apimachinery/pkg/util/intstr"`
)

// source returns the imports and declarations of a struct and of all types in it.
func (p *printer) source(name string, root *valueType, doc string) string {
	p.declare(name, root, []string{doc})
	var imports strings.Builder
	if len(p.imports) > 0 {
		imports.WriteString("\nimport (\n")
		for _, known := range []string{packageFree, packageIntOrString} {
			if p.imports[known] {
				imports.WriteString("\t" + known + "\n")
			}
		}
		imports.WriteString(")\n")
	}
	return imports.String() + p.out.String()
}

// declare writes the declaration of a struct, and then the declarations of the structs of its fields.
func (p *printer) declare(name string, t *valueType, doc []string) {
	type pending struct {
		name string
		of   *valueType
		doc  string
	}
	var later []pending
	p.out.WriteString("\n")
	for _, line := range doc {
		p.out.WriteString("// " + line + "\n")
	}
	fmt.Fprintf(&p.out, "type %s struct {\n", name)
	fields := map[string]bool{}
	for i, f := range t.fields {
		if i > 0 {
			p.out.WriteString("\n")
		}
		goField := unique(goName(f.key), fields)
		declared := p.expression(f.of, name, goField, func(typeName string, of *valueType) {
			later = append(later, pending{typeName, of, fmt.Sprintf("%s has the fields of %s.", typeName, f.key)})
		})
		p.field(f, goField, declared)
	}
	p.out.WriteString("}\n")
	for _, next := range later {
		p.declare(next.name, next.of, []string{next.doc})
	}
}

// field writes a field. The type of a scalar is a pointer, so that an empty value differs from a missing value. A
// missing value means the chart's default.
func (p *printer) field(f field, name, declared string) {
	for _, line := range docOf(f, name) {
		p.out.WriteString("\t// " + line + "\n")
	}
	if f.required {
		p.out.WriteString("\t// +required\n")
	} else {
		p.out.WriteString("\t// +optional\n")
	}
	for _, marker := range markersOf(f.of) {
		p.out.WriteString("\t// +" + marker + "\n")
	}
	omit := "omitempty"
	switch f.of.shape {
	case shapeList, shapeMap:
		// An empty list differs from a missing list.
		omit = "omitzero"
	case shapeStruct, shapeString, shapeBoolean, shapeInteger, shapeNumber, shapeIntOrString, shapeFree, shapeFreeObject:
		declared = "*" + declared
	}
	fmt.Fprintf(&p.out, "\t%s %s `json:\"%s,%s\"`\n", name, declared, f.key, omit)
}

// docOf returns the description of a field, with the default of the chart.
func docOf(f field, name string) []string {
	lines := f.doc
	if len(lines) == 0 {
		lines = []string{name + " is the value " + f.key + " of the chart."}
	}
	if fallback := f.fallback; fallback != "" && fallback != `""` && fallback != "{}" && fallback != "[]" &&
		len(fallback) <= maxFallback && f.of.shape != shapeStruct {
		last := len(lines) - 1
		lines = append(append([]string{}, lines[:last]...), sentence(lines[last]),
			"The default of the chart is "+fallback+".")
	}
	return lines
}

// maxFallback is the maximum length of a default in a description.
const maxFallback = 80

// sentence adds a full stop to a text that has none.
func sentence(text string) string {
	if text == "" || strings.ContainsAny(text[len(text)-1:], ".!?:/") {
		return text
	}
	return text + "."
}

func markersOf(t *valueType) []string {
	markers := t.markers
	if t.shape == shapeFreeObject {
		markers = append([]string{"kubebuilder:validation:Type=object"}, markers...)
	}
	if t.shape == shapeList {
		for _, marker := range t.element.markers {
			if rest, ok := strings.CutPrefix(marker, "kubebuilder:validation:"); ok {
				markers = append(markers, "kubebuilder:validation:items:"+rest)
			}
		}
	}
	return markers
}

// expression returns the Go expression of a type. It calls later with each struct that must be declared.
func (p *printer) expression(t *valueType, parent, name string, later func(string, *valueType)) string {
	switch t.shape {
	case shapeString:
		return "string"
	case shapeBoolean:
		return "bool"
	case shapeInteger:
		return "int64"
	case shapeNumber:
		return "float64"
	case shapeIntOrString:
		p.imports[packageIntOrString] = true
		return "intstr.IntOrString"
	case shapeList:
		return "[]" + p.expression(t.element, parent, name, later)
	case shapeMap:
		return "map[string]" + p.expression(t.element, parent, name, later)
	case shapeStruct:
		typeName := unique(strings.TrimSuffix(parent, valuesSuffix)+name, p.taken)
		later(typeName, t)
		return typeName
	case shapeFree, shapeFreeObject:
	}
	p.imports[packageFree] = true
	return "apiextensionsv1.JSON"
}
