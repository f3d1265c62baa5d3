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
}

// String returns the problem in one line.
func (p Problem) String() string {
	text := fmt.Sprintf("%s: %s", p.Object, p.Message)
	if p.Place == "" {
		return text
	}
	return p.Place + ": " + text
}

// Validate renders the dependents of a source, and returns the faults for which an API server would refuse them.
func Validate(ctx context.Context, req Request) ([]Problem, int, error) {
	places := &Places{Namespace: req.Namespace}
	req.locate = places.Add
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
		for _, f := range i.Faults {
			problems = append(problems, Problem{
				Object: i.Object.Key, Place: places.Of(i.Object.Key.String(), f.Field), Message: f.String(),
			})
		}
	}
	return problems, len(objects), nil
}
