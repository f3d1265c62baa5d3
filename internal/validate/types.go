package validate

import (
	"errors"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// notDeclared is the message of the schema about a field that the type does not have. duplicate begins the message
// about an item of a list that is there twice.
const (
	notDeclared = "field not declared in schema"
	duplicate   = "duplicate entries "
)

// checkTypes compares a manifest with the schema of its type, as a server-side apply does.
func checkTypes(s Subject) []Fault {
	if s.Types == nil {
		return nil
	}
	_, err := s.Types.ObjectToTyped(s.Object.Body)
	var problems typed.ValidationErrors
	if !errors.As(err, &problems) {
		// An error about the schema itself says nothing about the object.
		return nil
	}
	var faults []Fault
	for _, p := range problems {
		accepted := p.ErrorMessage == notDeclared || strings.HasPrefix(p.ErrorMessage, duplicate)
		if strings.HasPrefix(p.ErrorMessage, "schema error: ") || s.DropsUnknown && accepted {
			continue
		}
		// The message quotes the value, which may be a secret.
		message, _, _ := strings.Cut(p.ErrorMessage, ", got ")
		faults = append(faults, Fault{Field: strings.TrimPrefix(p.Path, "."), Message: message, OfSchema: true})
	}
	return faults
}
