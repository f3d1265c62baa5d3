package serverrules

import (
	"encoding/json"
	"reflect"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/fairlead-io/fairlead/internal/jsontype"
)

// WithoutNulls returns a manifest of a built-in type without the fields that are null, which a create by POST ignores.
// A server-side apply counts such a field as set: it keeps the value that the field has by a default or from another
// client, or sets the defaults of the fields below it. Null in a map of texts stays, because there it is an empty text.
func WithoutNulls(kind schema.GroupVersionKind, manifest map[string]any) map[string]any {
	t := typeOf(kind)
	if t == nil || !hasNull(manifest) {
		return manifest
	}
	copied := runtime.DeepCopyJSON(manifest)
	dropNulls(copied, t)
	return copied
}

// typeOf returns the Go type of a built-in type; nil for other types.
func typeOf(kind schema.GroupVersionKind) reflect.Type {
	if kind == apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition") {
		return reflect.TypeFor[apiextensionsv1.CustomResourceDefinition]()
	}
	return clientgoscheme.Scheme.AllKnownTypes()[kind]
}

func hasNull(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case map[string]any:
		for _, child := range value {
			if hasNull(child) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(value, hasNull)
	}
	return false
}

// dropNulls removes the fields of structs that are null in a value of a Go type.
func dropNulls(value any, t reflect.Type) {
	if t = jsontype.Dereferenced(t); reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		fields := jsontype.Fields(t)
		for name, child := range value {
			of := fields[name]
			switch {
			case t.Kind() == reflect.Map:
				dropNulls(child, t.Elem())
			case of == nil:
			case child != nil:
				dropNulls(child, of)
			case jsontype.Dereferenced(of) != reflect.TypeFor[apiextensionsv1.JSON]():
				delete(value, name)
			}
		}
	case []any:
		if t.Kind() == reflect.Slice {
			for _, item := range value {
				dropNulls(item, t.Elem())
			}
		}
	}
}
