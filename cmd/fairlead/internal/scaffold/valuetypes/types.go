package valuetypes

import (
	"fmt"
)

// valuesSuffix is the suffix of the name of the type of all values.
const valuesSuffix = "Values"

// Chart contains the files from which types are derived.
type Chart struct {
	// Values and Schema are values.yaml and values.schema.json; both are optional.
	Values, Schema []byte
	// Templates contains the texts of the templates by their paths.
	Templates map[string]string
	// SubCharts are the names and aliases of dependencies.
	SubCharts []string
}

// Types are the types of a chart's values.
type Types struct {
	// Code is Go code with imports and declarations, without a package clause.
	Code string
	// Keys are the top-level keys of the values.
	Keys []string
	// Sample contains the values of the sample component: required values, and examples.
	Sample map[string]any
	// Demanded has examples of the values without a default that templates demand with the function required.
	Demanded map[string]any
	// Notes explain in a fixed order why values have no type.
	Notes []string
}

// Derive derives the types of a chart's values. The type of all values is named kind + "Values".
func Derive(kind string, chart Chart) (Types, error) {
	node, err := document(chart.Values)
	if err != nil {
		return Types{}, fmt.Errorf("values.yaml: %w", err)
	}
	root, err := parseSchema(chart.Schema)
	if err != nil {
		return Types{}, err
	}
	d := &deriver{
		root: root, usage: usageOf(chart.Templates), foreign: foreign(chart.SubCharts),
		documented: descriptionsIn(string(chart.Values)),
	}
	d.notes = d.usage.notes
	t := d.all(subject{node: node, schema: root.resolve(root)})
	p := printer{imports: map[string]bool{}, taken: map[string]bool{}}
	for _, suffix := range []string{"", "List", "Spec", "Status", valuesSuffix} {
		p.taken[kind+suffix] = true
	}
	result := Types{
		Code: p.source(kind+valuesSuffix, t,
			kind+valuesSuffix+" are the values of the chart. "+
				"A value that is not set has the default of the chart's values.yaml."),
		Sample: map[string]any{}, Demanded: d.usage.demands(t), Notes: d.notes,
	}
	for _, f := range t.fields {
		result.Keys = append(result.Keys, f.key)
		if value, ok := sampleOf(f); ok {
			result.Sample[f.key] = value
		}
	}
	return result, nil
}

// foreign returns the values that a chart only passes to sub-charts, each with the reason why it has no type.
func foreign(subCharts []string) map[valuePath]string {
	found := map[valuePath]string{"global": "sub-charts also use it"}
	for _, name := range subCharts {
		found[valuePath(name)] = "it belongs to a sub-chart"
	}
	return found
}

// all derives the struct of all values.
func (d *deriver) all(s subject) *valueType {
	if _, whole := d.usage.whole[""]; whole {
		d.note("values", "%s uses all values as a whole; a component cannot set values without a field in these types",
			d.usage.whole[""])
	}
	t := &valueType{shape: shapeStruct}
	for _, key := range d.keys(s) {
		if !isName(key) {
			d.note(valuePath(key), "left out: this key cannot be the name of a field")
			continue
		}
		t.fields = append(t.fields, d.field(s, key))
	}
	return t
}
