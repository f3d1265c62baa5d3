package helm

// InputError tells that a chart refuses what a request brings: its values break a schema, or the target is of another version of Kubernetes
// than the chart is for. With others the chart may render.
//
// What a template does with values is not among it: an error of one that runs is a template.ExecError of text/template, and one of what templates
// wrote is a RenderedError.
type InputError struct {
	// Err says what is refused, and why.
	Err error
}

// Error returns the message of Err.
func (e *InputError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *InputError) Unwrap() error { return e.Err }

// RenderedError tells that templates ran, and that what they wrote is no manifests: no YAML, or without a name, say. With other values it may be.
// All that is wrong is in what they wrote; where the folders crds hold no manifests either, the error is no RenderedError.
type RenderedError struct {
	// Err joins a manifests.FileError for each mistake.
	Err error
}

// Error returns the message of Err.
func (e *RenderedError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *RenderedError) Unwrap() error { return e.Err }
