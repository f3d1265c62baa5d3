package serverrules

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// oneOf is a group of fields that exclude each other.
type oneOf struct {
	// at is the path of the value that contains the fields. Names are separated by periods. A name that ends with [] is a
	// list whose items are identified by their field name.
	at string
	// by is the discriminator: the field whose value selects a branch. It is empty if a branch selects itself, so that
	// two branches exclude each other.
	by string
	// branches are the fields. With a discriminator, a field that is no branch is permitted with each value.
	branches []branch
}

// branch is a field of a one-of.
type branch struct {
	field string
	// values are the values of the discriminator that permit the field.
	values []string
	// injectable are the fields below the branch that controllers inject as regular updates.
	injectable []string
	// kept is set if the field is never dropped without a person.
	kept bool
}

// permits reports whether a value of the discriminator permits the branch.
func (b branch) permits(value string) bool { return slices.Contains(b.values, value) }

// Branch is a field of a live object that a manifest excludes by another field, without which the API server accepts
// the manifest.
type Branch struct {
	// Path is the field in the live object, and Pointer the same as a JSON pointer. Text is the path for people.
	Path    fieldpath.Path
	Pointer string
	Text    string
	// Discriminator is the path of the field that excludes the branch, and Value its value. They are empty if another
	// branch of the manifest does.
	Discriminator string
	Value         any
	// Kept is set if only a person may drop the field.
	Kept bool

	injectable []fieldpath.Path
}

// MayConcern reports whether a refusal may be about a one-of whose discriminator the manifest sets. The fields are
// those that the API server names as refused; they only save the request for the live object.
func MayConcern(kind schema.GroupKind, manifest map[string]any, refused []string) bool {
	for _, rule := range oneOfs(kind) {
		set := slices.ContainsFunc(places(manifest, nil, rule.at), func(p place) bool { return rule.selects(p.value) })
		if set && slices.ContainsFunc(refused, func(field string) bool { return overlap(withoutIndexes(field), rule.at) }) {
			return true
		}
	}
	return false
}

// Excluded returns the fields of a live object that a manifest of its kind excludes, in the order of the table.
func Excluded(kind schema.GroupKind, manifest, live map[string]any) []Branch {
	var found []Branch
	for _, rule := range oneOfs(kind) {
		for _, p := range places(manifest, live, rule.at) {
			if p.live != nil {
				found = append(found, rule.excluded(p)...)
			}
		}
	}
	return found
}

// selects reports whether a value of a manifest selects a branch.
func (o oneOf) selects(value map[string]any) bool {
	if o.by != "" {
		return value[o.by] != nil && value[o.by] != ""
	}
	return slices.ContainsFunc(o.branches, func(b branch) bool { return value[b.field] != nil })
}

// excluded returns the branches that a manifest excludes at one place of a live object.
func (o oneOf) excluded(p place) []Branch {
	if !o.selects(p.value) {
		return nil
	}
	var found []Branch
	for _, b := range o.branches {
		if p.value[b.field] != nil || p.live[b.field] == nil || o.by != "" && b.permits(text(p.value[o.by])) {
			continue
		}
		at := append(p.path.Copy(), fieldpath.PathElement{FieldName: &b.field})
		excluded := Branch{
			Path: at, Pointer: p.pointer + "/" + b.field, Text: p.text + "." + b.field, Kept: b.kept,
		}
		if o.by != "" {
			excluded.Discriminator, excluded.Value = p.pointer+"/"+o.by, p.value[o.by]
		}
		for _, field := range b.injectable {
			excluded.injectable = append(excluded.injectable, append(at.Copy(), fieldpath.MakePathOrDie(names(field)...)...))
		}
		found = append(found, excluded)
	}
	return found
}

// text returns a value of a discriminator as text: true for a switch that is on.
func text(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case bool:
		return strconv.FormatBool(value)
	}
	return ""
}

// Below returns those fields of a set that are the branch, or below it.
func (b Branch) Below(fields *fieldpath.Set) *fieldpath.Set {
	found := fieldpath.NewSet()
	fields.Iterate(func(p fieldpath.Path) {
		if isBelow(p, b.Path) {
			found.Insert(p.Copy())
		}
	})
	return found
}

// Injectable reports whether all fields of a set may have been injected, or only contain such fields.
func (b Branch) Injectable(fields *fieldpath.Set) bool {
	all := true
	fields.Iterate(func(p fieldpath.Path) {
		all = all && slices.ContainsFunc(b.injectable, func(at fieldpath.Path) bool {
			return isBelow(p, at) || isBelow(at, p)
		})
	})
	return all
}

// Drop removes the branch from an object, which is changed.
func (b Branch) Drop(object map[string]any) {
	var value any = object
	for _, element := range b.Path[:len(b.Path)-1] {
		value = step(value, element)
	}
	if parent, ok := value.(map[string]any); ok {
		delete(parent, *b.Path[len(b.Path)-1].FieldName)
	}
}

func step(value any, element fieldpath.PathElement) any {
	switch value := value.(type) {
	case map[string]any:
		if element.FieldName != nil {
			return value[*element.FieldName]
		}
	case []any:
		for _, item := range value {
			if fields, ok := item.(map[string]any); ok && element.Key != nil && fields["name"] == nameIn(element) {
				return fields
			}
		}
	}
	return nil
}

func nameIn(element fieldpath.PathElement) any {
	for _, field := range *element.Key {
		if field.Name == "name" {
			return field.Value.Unstructured()
		}
	}
	return nil
}

func isBelow(path, prefix fieldpath.Path) bool {
	return len(path) >= len(prefix) && path[:len(prefix)].Equals(prefix)
}

// place is a value of a manifest at the path of a one-of, and the value of the live object there. live is nil if there
// is none.
type place struct {
	value, live map[string]any
	path        fieldpath.Path
	pointer     string
	text        string
}

// places returns the values of a manifest at a path.
func places(manifest, live map[string]any, at string) []place {
	found := []place{{value: manifest, live: live}}
	for name := range strings.SplitSeq(at, ".") {
		var next []place
		for _, p := range found {
			next = append(next, p.children(name)...)
		}
		found = next
	}
	return found
}

// children returns the values in a field. A field of which the name ends with [] has a value for each item.
func (p place) children(name string) []place {
	list, isList := strings.CutSuffix(name, "[]")
	child := place{
		path:    append(p.path.Copy(), fieldpath.PathElement{FieldName: &list}),
		pointer: p.pointer + "/" + list, text: strings.TrimPrefix(p.text+"."+list, "."),
	}
	if !isList {
		value, ok := p.value[list].(map[string]any)
		if !ok {
			return nil
		}
		child.value = value
		child.live, _ = p.live[list].(map[string]any)
		return []place{child}
	}
	items, _ := p.value[list].([]any)
	current, _ := p.live[list].([]any)
	var found []place
	for _, item := range items {
		fields, _ := item.(map[string]any)
		if fields["name"] == nil {
			continue
		}
		of := child
		of.value = fields
		for i, other := range current {
			if o, ok := other.(map[string]any); ok && o["name"] == fields["name"] {
				of.live = o
				of.path = append(child.path.Copy(), fieldpath.PathElement{Key: fieldpath.KeyByFields("name", o["name"])})
				index := strconv.Itoa(i)
				of.pointer, of.text = child.pointer+"/"+index, child.text+"["+index+"]"
			}
		}
		found = append(found, of)
	}
	return found
}

// overlap reports whether one path contains the other. A path that is empty contains all.
func overlap(a, b string) bool {
	a, b = a+".", strings.ReplaceAll(b, "[]", "")+"."
	return a == "." || strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

// withoutIndexes returns the path of a field without the indexes and keys of lists.
func withoutIndexes(field string) string {
	for {
		before, rest, found := strings.Cut(field, "[")
		if !found {
			return field
		}
		_, after, _ := strings.Cut(rest, "]")
		field = before + after
	}
}

func names(path string) []any {
	var parts []any
	for name := range strings.SplitSeq(path, ".") {
		parts = append(parts, name)
	}
	return parts
}
