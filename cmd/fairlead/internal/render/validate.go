package render

import (
	"context"
	"fmt"

	"github.com/fairlead-io/fairlead/internal/validate"
	"github.com/fairlead-io/fairlead/internal/validate/builtin"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Problem is a fault of a rendered object. Place is the file of the object in the source, with the line of the field if
// that is known; see Places.
type Problem struct {
	Object  manifests.Key
	Place   string
	Message string
	// Warning is set if the API server accepts the object nevertheless.
	Warning bool
}

// String returns the problem in one line.
func (p Problem) String() string {
	text := fmt.Sprintf("%s: %s", p.Object, p.Message)
	if p.Place == "" {
		return text
	}
	return p.Place + ": " + text
}

// Validate renders the dependents of a source. It returns the faults for which an API server would refuse them, and as
// warnings the fields that it would drop.
func Validate(ctx context.Context, req Request) ([]Problem, int, error) {
	places := &Places{Namespace: req.Namespace}
	req.places = places
	objects, err := Dependents(ctx, req)
	if err != nil {
		return nil, 0, err
	}
	invalid, err := validate.Set(objects, builtin.Types())
	if err != nil {
		return nil, 0, err
	}
	var problems []Problem
	for _, i := range invalid {
		object := i.Object.Key
		for _, f := range i.Faults {
			problems = append(problems, Problem{
				Object: object, Place: places.Of(object.String(), f.Field), Message: f.String(),
			})
		}
		for _, field := range i.Dropped {
			problems = append(problems, Problem{
				Object: object, Place: places.Of(object.String(), field), Warning: true,
				Message: field + ": the API server drops this field, because the type does not have it",
			})
		}
	}
	return problems, len(objects), nil
}
