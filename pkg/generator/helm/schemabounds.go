package helm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/fairlead-io/fairlead/internal/bounded"
)

// Limits of the schemas of a chart. The largest schemas of public charts contain 10,000 nodes, and nest 30 deep.
const (
	maxSchemaNodes = 100_000
	maxSchemaDepth = 200
	// maxEvaluations is the number of evaluations of a validation. An evaluation applies a schema to a value. It takes
	// about a microsecond, and a failed evaluation keeps about 300 bytes.
	maxEvaluations = 500_000
	// maxReferences is the number of references and values that an evaluation may be below.
	maxReferences = 5000
	// maxPatterns is the size of all regular expressions of a schema, in instructions.
	maxPatterns = 200_000
	// maxExponent is the largest exponent of a number. The library stores numbers exactly.
	maxExponent = 400
	// maxViolations is the number of violations that an error lists.
	maxViolations = 100
)

// decodeSchema decodes a schema within the limits.
func decodeSchema(text []byte) (any, error) {
	if _, err := bounded.JSON(text, bounded.Limits{Nodes: maxSchemaNodes, Depth: maxSchemaDepth}); err != nil {
		return nil, err
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	return document, checkNumbers(document)
}

// checkNumbers returns an error for a number that takes much memory when it is stored exactly, such as 1e1000000.
func checkNumbers(document any) error {
	switch document := document.(type) {
	case map[string]any:
		for _, value := range document {
			if err := checkNumbers(value); err != nil {
				return err
			}
		}
	case []any:
		for _, value := range document {
			if err := checkNumbers(value); err != nil {
				return err
			}
		}
	case json.Number:
		_, exponent, _ := strings.Cut(strings.ToLower(document.String()), "e")
		if size, err := strconv.Atoi(exponent); exponent != "" && (err != nil || size > maxExponent || size < -maxExponent) {
			return fmt.Errorf("the number %.40s has an exponent beyond %d", document, maxExponent)
		}
	}
	return nil
}

// patterns compiles the regular expressions of a schema, and limits their total size.
type patterns struct{ instructions int }

// compile implements jsonschema.RegexpEngine.
func (p *patterns) compile(expression string) (jsonschema.Regexp, error) {
	size, err := bounded.Pattern(expression)
	if err != nil {
		return nil, err
	}
	if p.instructions += size; p.instructions > maxPatterns {
		return nil, fmt.Errorf("the regular expressions up to here compile to more than %d instructions", maxPatterns)
	}
	return compilePattern(expression)
}

// checkEvaluations returns an error if the validation of values may need more than maxEvaluations: a schema of a few
// hundred bytes that refers to itself in two branches of anyOf, 31 levels deep, needs two billion. The number is an
// upper bound, because it includes the branches that the library skips after the first match.
func checkEvaluations(schema *jsonschema.Schema, values any) error {
	e := &evaluations{known: map[evaluation]int{}, anchors: map[string][]*jsonschema.Schema{}}
	e.findAnchors(schema)
	if e.of(schema, &place{value: values}); e.err != nil {
		return e.err
	}
	return nil
}

// place is a value in the values of a chart. Each value has one place, which identifies it.
type place struct {
	value any
	depth int
	keys  map[string]*place
	items []*place
}

// below returns the place of a value of a map.
func (p *place) below(key string, value any) *place {
	if p.keys == nil {
		p.keys = map[string]*place{}
	}
	if p.keys[key] == nil {
		p.keys[key] = &place{value: value, depth: p.depth + 1}
	}
	return p.keys[key]
}

// elements returns the places of the elements of a list.
func (p *place) elements(list []any) []*place {
	if p.items == nil {
		for _, value := range list {
			p.items = append(p.items, &place{value: value, depth: p.depth + 1})
		}
	}
	return p.items
}

type evaluation struct {
	schema *jsonschema.Schema
	at     *place
}

// underWay is the number of evaluations of an evaluation that is being counted.
const underWay = -1

// evaluations counts evaluations.
type evaluations struct {
	// known contains the number of evaluations that each evaluation needs, including itself.
	known map[evaluation]int
	// anchors are the schemas to which a dynamic reference may refer, by anchor.
	anchors map[string][]*jsonschema.Schema
	// level is the number of evaluations under way.
	level int
	err   error
}

// of returns the number of evaluations of a schema at a place. It sets err if there are too many.
func (e *evaluations) of(schema *jsonschema.Schema, at *place) int {
	if e.err != nil || schema == nil {
		return 0
	}
	if schema.Bool != nil {
		return 1
	}
	this := evaluation{schema, at}
	if known := e.known[this]; known != 0 {
		if known == underWay {
			e.err = fmt.Errorf("%s refers to itself for the same value, without end", locationOf(schema))
		}
		return max(known, 1)
	}
	if e.level++; e.level > maxReferences {
		e.err = fmt.Errorf("%s is applied below more than %d other schemas: refer less deep",
			locationOf(schema), maxReferences)
		return 0
	}
	e.known[this] = underWay
	total := e.branches(schema, at)
	switch value := at.value.(type) {
	case map[string]any:
		total = sum(total, e.properties(schema, at, value))
	case []any:
		total = sum(total, e.elements(schema, at, value))
	}
	e.level--
	e.known[this] = total
	if e.err == nil && (total > maxEvaluations || len(e.known) > maxEvaluations) {
		e.err = fmt.Errorf("%s needs more than %d evaluations for these values: a schema that refers to the same schema "+
			"several times, in many levels, multiplies them", locationOf(schema), maxEvaluations)
	}
	return total
}

func locationOf(schema *jsonschema.Schema) string {
	return "the schema " + strings.TrimPrefix(schema.Location, schemaName)
}

// sum adds numbers of evaluations without overflow.
func sum(a, b int) int { return min(a, math.MaxInt/4) + min(b, math.MaxInt/4) }

// branches counts the evaluation itself, and the schemas that are applied to the same value. An error names the
// location of the value, so deep values cost more; a long enum costs more as well.
func (e *evaluations) branches(schema *jsonschema.Schema, at *place) int {
	total := 1 + at.depth/16
	if schema.Enum != nil {
		total += len(schema.Enum.Values) / 16
	}
	same := []*jsonschema.Schema{schema.Ref, schema.RecursiveRef, schema.Not, schema.If, schema.Then, schema.Else}
	for _, list := range [][]*jsonschema.Schema{same, schema.AllOf, schema.AnyOf, schema.OneOf} {
		for _, sub := range list {
			total = sum(total, e.of(sub, at))
		}
	}
	if schema.DynamicRef != nil {
		total = sum(total, e.dynamic(schema.DynamicRef, at))
	}
	return total
}

// dynamic counts a dynamic reference. The schema to which it refers depends on the evaluations above, so the largest
// number counts.
func (e *evaluations) dynamic(reference *jsonschema.DynamicRef, at *place) int {
	largest := e.of(reference.Ref, at)
	for _, schema := range e.anchors[reference.Anchor] {
		largest = max(largest, e.of(schema, at))
	}
	return largest
}

// properties counts the schemas that are applied to the values and to the keys of a map.
func (e *evaluations) properties(schema *jsonschema.Schema, at *place, values map[string]any) int {
	total := 0
	if schema.UnevaluatedProperties != nil || schema.UnevaluatedItems != nil {
		total += len(values)
	}
	additional, _ := schema.AdditionalProperties.(*jsonschema.Schema)
	for key, value := range values {
		below := at.below(key, value)
		for _, sub := range []*jsonschema.Schema{schema.Properties[key], schema.UnevaluatedProperties} {
			total = sum(total, e.of(sub, below))
		}
		matched := schema.Properties[key] != nil
		for pattern, sub := range schema.PatternProperties {
			if pattern.MatchString(key) {
				matched, total = true, sum(total, e.of(sub, below))
			}
		}
		if !matched {
			total = sum(total, e.of(additional, below))
		}
		if schema.PropertyNames != nil {
			total = sum(total, e.of(schema.PropertyNames, &place{value: key, depth: at.depth}))
		}
		dependent, _ := schema.Dependencies[key].(*jsonschema.Schema)
		total = sum(total, sum(e.of(dependent, at), e.of(schema.DependentSchemas[key], at)))
	}
	return total
}

// elements counts the schemas that are applied to the elements of a list.
func (e *evaluations) elements(schema *jsonschema.Schema, at *place, values []any) int {
	total := len(values) / 16
	each, _ := schema.Items.(*jsonschema.Schema)
	additional, _ := schema.AdditionalItems.(*jsonschema.Schema)
	first, _ := schema.Items.([]*jsonschema.Schema)
	first = append(slices.Clip(first), schema.PrefixItems...)
	for i, below := range at.elements(values) {
		if i < len(first) {
			total = sum(total, e.of(first[i], below))
		}
		all := []*jsonschema.Schema{each, additional, schema.Items2020, schema.Contains, schema.UnevaluatedItems}
		for _, sub := range all {
			total = sum(total, e.of(sub, below))
		}
	}
	return total
}

// findAnchors finds the schemas with a dynamic anchor.
func (e *evaluations) findAnchors(root *jsonschema.Schema) {
	seen := map[*jsonschema.Schema]bool{}
	waiting := []*jsonschema.Schema{root}
	for len(waiting) > 0 {
		schema := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		if schema == nil || seen[schema] {
			continue
		}
		seen[schema] = true
		if schema.DynamicAnchor != "" {
			e.anchors[schema.DynamicAnchor] = append(e.anchors[schema.DynamicAnchor], schema)
		}
		waiting = append(waiting, subschemas(schema)...)
	}
}

// subschemas returns the schemas that a schema contains or refers to.
func subschemas(s *jsonschema.Schema) []*jsonschema.Schema {
	all := []*jsonschema.Schema{
		s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else, s.PropertyNames, s.UnevaluatedProperties,
		s.Contains, s.Items2020, s.UnevaluatedItems, s.ContentSchema,
	}
	if s.DynamicRef != nil {
		all = append(all, s.DynamicRef.Ref)
	}
	for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf, s.PrefixItems} {
		all = append(all, list...)
	}
	for _, either := range []any{s.AdditionalProperties, s.Items, s.AdditionalItems} {
		switch either := either.(type) {
		case *jsonschema.Schema:
			all = append(all, either)
		case []*jsonschema.Schema:
			all = append(all, either...)
		}
	}
	for _, dependency := range s.Dependencies {
		if schema, ok := dependency.(*jsonschema.Schema); ok {
			all = append(all, schema)
		}
	}
	for _, byName := range []map[string]*jsonschema.Schema{s.Properties, s.DependentSchemas} {
		for _, schema := range byName {
			all = append(all, schema)
		}
	}
	for _, schema := range s.PatternProperties {
		all = append(all, schema)
	}
	return all
}
