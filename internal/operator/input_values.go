package operator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// ErrNotPolled is the error of a rendering without the value of a poll, which only the operator in the cluster knows.
var ErrNotPolled = errors.New("only the operator in the cluster knows the polled value")

// InputError is the error of an input in spec.inputs that has no value.
type InputError struct {
	// Index and Name are those of the input.
	Index int
	Name  string
	Err   error
}

// Error names the input and the reason.
func (e *InputError) Error() string {
	return fmt.Sprintf("%s: %v", placeOfInput(e.Index, e.Name), e.Err)
}

// Unwrap returns the reason.
func (e *InputError) Unwrap() error { return e.Err }

// placeOfInput returns the field of an input and its name, such as spec.inputs[0] (rates).
func placeOfInput(index int, name string) string {
	return fmt.Sprintf("spec.inputs[%d] (%s)", index, name)
}

// InputErrors returns all errors of inputs that an error wraps.
func InputErrors(err error) []*InputError {
	switch e := err.(type) { //nolint:errorlint // The function looks at each error of the tree itself.
	case *InputError:
		return []*InputError{e}
	case interface{ Unwrap() error }:
		return InputErrors(e.Unwrap())
	case interface{ Unwrap() []error }:
		var found []*InputError
		for _, part := range e.Unwrap() {
			found = append(found, InputErrors(part)...)
		}
		return found
	}
	return nil
}

// GivenInputs returns the inputs of a preview in which inputs of a component have the given values, by their names. A
// polled input has the digest that it has in the operator. The error names inputs that the component does not have.
func GivenInputs(c *v1alpha1.Component, given map[string]any) (map[string]any, error) {
	polls, objects, names := map[string]any{}, map[string]any{}, map[string]bool{}
	for _, input := range c.Spec.Inputs {
		names[input.Name] = true
		value, ok := given[input.Name]
		switch {
		case !ok:
		case input.Poll != nil:
			polls[input.Name] = value
		default:
			objects[input.Name] = value
		}
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !names[name] {
			errs = append(errs, fmt.Errorf("spec.inputs of component %s/%s has no input %q", c.Namespace, c.Name, name))
		}
	}
	inputs := map[string]any{}
	if len(polls) > 0 {
		inputs[polledInput] = polls
	}
	if len(objects) > 0 {
		inputs[givenInput] = objects
	}
	return inputs, errors.Join(errs...)
}

// ReadInputs is like GivenInputs, and reads the objects of the inputs for which no value is given. It returns an
// InputError for each input that has no value and must have one.
func ReadInputs(
	ctx context.Context, c *v1alpha1.Component, given map[string]any, lookup generator.Lookup,
) (map[string]any, error) {
	known, errs := maps.Clone(given), []error(nil)
	if known == nil {
		known = map[string]any{}
	}
	for i, input := range c.Spec.Inputs {
		if _, isGiven := given[input.Name]; isGiven {
			continue
		}
		value, err := any(nil), ErrNotPolled
		if input.Object != nil {
			value, err = objectValue(ctx, *input.Object, c.Namespace, lookup)
		}
		switch {
		case err != nil:
			errs = append(errs, &InputError{Index: i, Name: input.Name, Err: err})
		case value != nil:
			known[input.Name] = value
		}
	}
	inputs, err := GivenInputs(c, known)
	return inputs, errors.Join(append(errs, err)...)
}
