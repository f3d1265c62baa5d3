package external

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	kjson "sigs.k8s.io/json"
)

// decodeSpec converts a spec. unknown are the errors of fields that S does not have and of duplicate fields; err is set
// if the spec cannot be converted. A missing spec is the spec without fields.
func decodeSpec[S any](text json.RawMessage) (spec S, unknown []error, err error) {
	if len(text) == 0 || string(text) == "null" {
		// A missing spec makes an empty struct or map, and the zero value of any other type.
		if kjson.UnmarshalCaseSensitivePreserveInts([]byte("{}"), &spec) != nil {
			var zero S
			return zero, nil, nil
		}
		return spec, nil, nil
	}
	unknown, err = kjson.UnmarshalStrict(text, &spec)
	for i, problem := range unknown {
		if field, ok := errors.AsType[kjson.FieldError](problem); ok {
			field.SetFieldPath("spec." + field.FieldPath())
			unknown[i] = field
		}
	}
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		value, _, _ := strings.Cut(mismatch.Value, " ") // without the value itself
		err = fmt.Errorf("%s: it is of type %s; want %s", specPath(mismatch.Field), value, mismatch.Type)
	} else if err != nil {
		err = fmt.Errorf("spec: %w", err)
	}
	return spec, unknown, err
}

// unknownFields returns the errors of fields that S does not have, and of duplicate fields, in a spec with values that
// are not known yet, and null. If a type cannot be null, only the fields with known values are checked.
func unknownFields[S any](text json.RawMessage) []error {
	_, unknown, err := decodeSpec[S](text)
	if err == nil {
		return unknown
	}
	value, err := decodeValue(text)
	if err != nil {
		return nil
	}
	known, err := json.Marshal(withoutNull(value))
	if err != nil {
		return nil
	}
	_, unknown, _ = decodeSpec[S](known)
	return unknown
}

// withoutNull returns a JSON value without the fields and elements that are null.
func withoutNull(value any) any {
	switch v := value.(type) {
	case map[string]any:
		known := map[string]any{}
		for name, field := range v {
			if field != nil {
				known[name] = withoutNull(field)
			}
		}
		return known
	case []any:
		known := []any{}
		for _, element := range v {
			if element != nil {
				known = append(known, withoutNull(element))
			}
		}
		return known
	}
	return value
}

func specPath(field string) string {
	if field == "" {
		return "spec"
	}
	return "spec." + field
}

// normalised returns the fields that a spec sets, with the values that the JSON form of its converted value has for
// them. So values with several texts, such as durations, are compared in one form.
func normalised(set, converted any) any {
	fields, ok := set.(map[string]any)
	values, both := converted.(map[string]any)
	if !ok || !both {
		return converted
	}
	result := make(map[string]any, len(fields))
	for name, field := range fields {
		result[name] = field
		if value, found := values[name]; found {
			result[name] = normalised(field, value)
		}
	}
	return result
}

// valueOf returns the JSON value of a Go value.
func valueOf(value any) (any, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return decodeValue(text)
}
