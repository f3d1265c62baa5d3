package manifests

import "fmt"

// FileError is a mistake in a file that a person wrote, or that a template rendered.
type FileError struct {
	// File is the path of the file in its source.
	File string
	// Line in the whole file, from 1.
	Line int
	// Err says what is wrong, and what to do.
	Err error
}

// Error returns file:line: message.
func (e *FileError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }

// Unwrap returns Err.
func (e *FileError) Unwrap() error { return e.Err }
