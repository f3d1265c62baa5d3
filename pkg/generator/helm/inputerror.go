package helm

import "github.com/fairlead-io/fairlead/pkg/generator"

// InputError means that a chart rejects a request: the values violate a schema of the chart, or the chart does not
// support the Kubernetes version of the target cluster. Other values, or another target, may succeed.
//
// Errors of templates are no InputErrors: an error while a template runs is a template.ExecError of text/template, and
// invalid output of templates is a RenderedError.
type InputError struct {
	// Err is the reason of the rejection.
	Err error
}

// Error returns the message of Err.
func (e *InputError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *InputError) Unwrap() error { return e.Err }

// RenderedError means that the output of templates is invalid. If files in the folders crds are invalid too, Generate
// returns another error instead, because no values can succeed.
type RenderedError = generator.RenderedError
