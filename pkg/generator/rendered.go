package generator

// RenderedError means that the output of templates is invalid, such as invalid YAML or an object without name. Other
// values may succeed.
type RenderedError struct {
	// Err joins a manifests.FileError for each mistake.
	Err error
	// Output is the output of all templates. It may contain secrets.
	Output []byte
}

// Error returns the message of Err.
func (e *RenderedError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *RenderedError) Unwrap() error { return e.Err }
