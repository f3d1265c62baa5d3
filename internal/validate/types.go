package validate

import (
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/fairlead-io/fairlead/internal/builtintypes"
)

// notDeclared is the message of the schema about a field that the type does not have. duplicate begins the message
// about an item of a list that is there twice.
const (
	notDeclared = "field not declared in schema"
	duplicate   = "duplicate entries "
)

// checkTypes compares a manifest with the schema of its type, as a server-side apply does. It also returns the paths of
// fields that the write drops. A comparison ends at the first unknown field of each map, so it is repeated without the
// fields that were found.
func checkTypes(s Subject) (faults []Fault, dropped []string) {
	if s.Types == nil {
		return nil, nil
	}
	known := map[string]bool{}
	body := s.Object.Body
	for range maxFaults {
		var undeclared [][]string
		for _, p := range problems(s.Types, body) {
			path := strings.TrimPrefix(p.Path, ".")
			if p.ErrorMessage == notDeclared {
				undeclared = append(undeclared, fieldNames(path))
			}
			// The message quotes the value, which may be a secret.
			message, _, _ := strings.Cut(p.ErrorMessage, ", got ")
			f := Fault{Field: path, Message: message, OfSchema: true}
			switch {
			case known[f.String()], strings.HasPrefix(message, "schema error: "):
			case s.DropsUnknown && message == notDeclared:
				dropped = append(dropped, path)
			case s.DropsUnknown && strings.HasPrefix(message, duplicate):
			default:
				faults = append(faults, f)
			}
			known[f.String()] = true
		}
		var removed bool
		if body, removed = without(body, undeclared); !removed {
			break
		}
	}
	slices.SortFunc(faults, func(a, b Fault) int { return strings.Compare(a.String(), b.String()) })
	slices.Sort(dropped)
	return faults, dropped
}

// checkValues compares the values of a manifest with the schema of its type, except where the type has another fault
// already. An API server accepts an unchanged value of an existing object that its new definition refuses, so such an
// object is not checked if the set defines its type.
func checkValues(s Subject, others []Fault) []Fault {
	if s.Values == nil || s.Defined && s.Exists {
		return nil
	}
	var faults []Fault
	for _, f := range s.Values.Faults(s.Object.Body.Object) {
		path := fieldNames(f.Field)
		known := slices.ContainsFunc(others, func(o Fault) bool { return related(fieldNames(o.Field), path) })
		if !known {
			ofSchema := !builtintypes.IsBuiltIn(s.Object.Key.Group)
			faults = append(faults, Fault{Field: f.Field, Message: f.Message, OfSchema: ofSchema, OfValue: true})
		}
	}
	return faults
}

// problems returns the differences between an object and the schema of its type. An error about the schema itself says
// nothing about the object.
func problems(types managedfields.TypeConverter, body *unstructured.Unstructured) typed.ValidationErrors {
	_, err := types.ObjectToTyped(body)
	var found typed.ValidationErrors
	_ = errors.As(err, &found)
	return found
}
