package values

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	openapierrors "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// Fault is a value that a type does not accept. Field is its path. Message contains no value of the object, unless a
// rule of the type writes it into its message.
type Fault struct{ Field, Message string }

// Faults returns the faults of an object, sorted. The object is not changed.
func (t *Type) Faults(object map[string]any) []Fault {
	validator := validate.NewSchemaValidator(t.schema, nil, "", strfmt.Default)
	var faults []Fault
	for _, err := range validator.Validate(t.decoded(object)).Errors {
		faults = append(faults, faultOf(err))
	}
	if len(faults) == 0 {
		faults = t.broken(object)
	}
	slices.SortFunc(faults, func(a, b Fault) int {
		return strings.Compare(a.Field+" "+a.Message, b.Field+" "+b.Message)
	})
	return slices.Compact(faults)
}

// faultOf returns the fault that an error of the validator describes, in fewer words.
func faultOf(err error) Fault {
	var invalid *openapierrors.Validation
	if !errors.As(err, &invalid) {
		path, rest := pathIn(err.Error())
		return Fault{Field: strings.TrimPrefix(path, "."), Message: rest}
	}
	_, message, found := strings.Cut(err.Error(), " in "+invalid.In+" ")
	if !found {
		message = err.Error()
	}
	switch invalid.Code() {
	case openapierrors.InvalidTypeCode:
		// The message quotes the value.
		message, _, _ = strings.Cut(message, ": ")
	case openapierrors.EnumFailCode:
		message = "should be one of " + list(invalid.Values)
	}
	return Fault{Field: strings.TrimPrefix(invalid.Name, "."), Message: message}
}

// list returns the values of an enumeration without empty texts.
func list(values []any) string {
	var texts []string
	for _, value := range values {
		if value != "" {
			texts = append(texts, fmt.Sprint(value))
		}
	}
	return strings.Join(texts, ", ")
}

// pathIn returns the path in a message about alternatives, such as anyOf, or about the range of a number.
func pathIn(message string) (path, rest string) {
	if text, about := strings.CutPrefix(message, "Checked value "); about {
		if i := strings.LastIndex(text, " in "); i >= 0 {
			return text[i+len(" in "):], strings.TrimSuffix(text[:i], " (default format)")
		}
	}
	if text, quoted := strings.CutPrefix(message, `"`); quoted {
		if path, rest, found := strings.Cut(text, `" `); found {
			return path, rest
		}
	}
	return "", message
}
