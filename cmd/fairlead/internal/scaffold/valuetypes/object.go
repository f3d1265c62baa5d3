package valuetypes

import (
	"maps"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"
)

// textMaps are names of values that Kubernetes reads as maps of strings.
var textMaps = regexp.MustCompile(`(?i)(annotations|labels|nodeSelector)$`)

// object returns the type of a mapping: a struct if the chart declares its keys, a map, or a free-form object.
func (d *deriver) object(s subject) *valueType {
	if t := d.mapBySchema(s); t != nil {
		return t
	}
	if !closed(s.schema) {
		if t := d.open(s); t != nil {
			return t
		}
	}
	keys := d.keys(s)
	if len(keys) == 0 {
		d.note(s.path, "free-form: it is empty in values.yaml")
		return freeObject()
	}
	if bad := slices.IndexFunc(keys, func(key string) bool { return !isName(key) }); bad >= 0 {
		d.note(s.path, "free-form: its key %q cannot be the name of a field", keys[bad])
		return freeObject()
	}
	t := &valueType{shape: shapeStruct}
	for _, key := range keys {
		t.fields = append(t.fields, d.field(s, key))
	}
	return t
}

// mapBySchema returns the map type in a schema, or nil if the schema describes no map.
func (d *deriver) mapBySchema(s subject) *valueType {
	if s.schema == nil || len(s.schema.Properties) > 0 || s.schema.AdditionalProperties == nil ||
		s.schema.AdditionalProperties.schema == nil {
		return nil
	}
	element := s.below(anyElement)
	element.schema = s.schema.AdditionalProperties.schema
	return &valueType{shape: shapeMap, element: d.derive(element)}
}

// open returns the type of an object that may have unknown keys, and nil for an object with fixed keys.
func (d *deriver) open(s subject) *valueType {
	if textMaps.MatchString(s.path.last()) && d.holdsTexts(s.node) {
		return &valueType{shape: shapeMap, element: &valueType{shape: shapeString}}
	}
	if file, whole := d.usage.whole[s.path]; whole {
		d.note(s.path, "free-form: %s uses it as a whole", file)
		return freeObject()
	}
	if file, looped := d.usage.looped[s.path]; looped {
		d.note(s.path, "free-form: %s loops over all of its entries", file)
		return freeObject()
	}
	if s.schema != nil && len(s.schema.PatternProperties) > 0 {
		d.note(s.path, "free-form: the schema has patterns for its keys")
		return freeObject()
	}
	return nil
}

// holdsTexts reports whether a mapping is empty or contains only strings.
func (d *deriver) holdsTexts(node *yaml.Node) bool {
	if node == nil || node.Kind != yaml.MappingNode {
		return node == nil
	}
	for i := 1; i < len(node.Content); i += 2 {
		if value := plain(node.Content[i]); value.Kind != yaml.ScalarNode || value.ShortTag() != "!!str" {
			return false
		}
	}
	return true
}

// keys returns the keys in values.yaml in their order, then those in the schema, then those that templates read.
func (d *deriver) keys(s subject) []string {
	var keys []string
	for _, pair := range pairs(s.node) {
		keys = append(keys, pair.key.Value)
	}
	more := d.usage.keysOf(s.path)
	if s.schema != nil {
		more = append(slices.Sorted(maps.Keys(s.schema.Properties)), more...)
	}
	for _, key := range more {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// field returns the field of a struct for a key.
func (d *deriver) field(s subject, key string) field {
	below := s.below(key)
	var comment string
	for _, pair := range pairs(s.node) {
		if pair.key.Value == key {
			below.node, comment = pair.value, commentOf(pair)
		}
	}
	if s.schema != nil {
		below.schema = s.schema.Properties[key]
	}
	f := field{key: key, of: d.derive(below), fallback: below.fallback()}
	f.doc = d.describe(below, comment)
	f.required = s.schema != nil && slices.Contains(s.schema.Required, key) && f.fallback == ""
	return f
}

// pair is an entry of a mapping.
type pair struct{ key, value *yaml.Node }

// pairs returns the entries of a mapping, including entries of merge keys. Its own entries have precedence.
func pairs(node *yaml.Node) []pair {
	if node = plain(node); !isMapping(node) {
		return nil
	}
	var own, inherited []pair
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if key.ShortTag() == "!!merge" {
			inherited = append(inherited, mergedPairs(value)...)
			continue
		}
		own = append(own, pair{key, value})
	}
	for _, candidate := range inherited {
		if !slices.ContainsFunc(own, func(p pair) bool { return p.key.Value == candidate.key.Value }) {
			own = append(own, candidate)
		}
	}
	return own
}

// mergedPairs returns the entries of the value of a merge key, which is a mapping or a list of mappings.
func mergedPairs(node *yaml.Node) []pair {
	if node = plain(node); node.Kind != yaml.SequenceNode {
		return pairs(node)
	}
	var found []pair
	for _, element := range node.Content {
		found = append(found, pairs(element)...)
	}
	return found
}

// plain resolves aliases.
func plain(node *yaml.Node) *yaml.Node {
	for range maxDepth {
		if node == nil || node.Kind != yaml.AliasNode {
			return node
		}
		node = node.Alias
	}
	return nil
}

// mixedTag marks elements of different types.
const mixedTag = "!mixed"

// merged returns a node with the entries of all elements of a list, or nil for an empty list.
func merged(elements []*yaml.Node) *yaml.Node {
	var result *yaml.Node
	seen := map[*yaml.Node]bool{}
	for _, element := range elements {
		element = plain(element)
		if seen[element] {
			continue // Aliases can make the same node occur several times.
		}
		seen[element] = true
		switch {
		case result == nil:
			result = element
		case element == nil || result.Kind != element.Kind || result.Kind == yaml.ScalarNode &&
			result.ShortTag() != element.ShortTag():
			return &yaml.Node{Kind: yaml.ScalarNode, Tag: mixedTag}
		case result.Kind == yaml.MappingNode:
			result = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: joined(result, element)}
		case result.Kind == yaml.SequenceNode:
			result = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: slices.Concat(result.Content, element.Content)}
		}
	}
	return result
}

// joined returns the entries of two mappings. Entries in both are merged.
func joined(a, b *yaml.Node) []*yaml.Node {
	var content []*yaml.Node
	others := pairs(b)
	for _, p := range pairs(a) {
		value := p.value
		if i := slices.IndexFunc(others, func(o pair) bool { return o.key.Value == p.key.Value }); i >= 0 {
			value = merged([]*yaml.Node{p.value, others[i].value})
			others = slices.Delete(others, i, i+1)
		}
		content = append(content, p.key, value)
	}
	for _, p := range others {
		content = append(content, p.key, p.value)
	}
	return content
}
