package jsontype

import (
	"maps"
	"reflect"
	"strings"
)

// Fields returns the types of the fields of a struct, or of the struct of a pointer, by their names in JSON. The fields
// of structs that are embedded without a name in JSON are fields of the struct, as for encoding/json. Fields returns
// nil for other types.
func Fields(t reflect.Type) map[string]reflect.Type {
	t = Dereferenced(t)
	if t.Kind() != reflect.Struct {
		return nil
	}
	own, embedded := map[string]reflect.Type{}, map[string]reflect.Type{}
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-" || !field.IsExported() && !field.Anonymous:
		case name != "":
			own[name] = field.Type
		case field.Anonymous && Dereferenced(field.Type).Kind() == reflect.Struct:
			maps.Copy(embedded, Fields(field.Type))
		default:
			own[field.Name] = field.Type
		}
	}
	maps.Copy(embedded, own)
	return embedded
}

// Dereferenced returns the type to which a pointer, or a pointer to a pointer, points. Other types it returns
// unchanged.
func Dereferenced(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}
