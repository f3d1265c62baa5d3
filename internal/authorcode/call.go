package authorcode

import (
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
)

// Panic is the error of code that panicked.
type Panic struct {
	// Code names the code, as the subject of a sentence, such as "the generator".
	Code string
	// Value is the value of the panic.
	Value any
	// Place is the file and the line that panicked, such as "schema.go:12".
	Place string
	// Stack is the stack at the panic. It contains addresses, so it differs each time.
	Stack []byte
}

// Error returns a text without the stack.
func (p *Panic) Error() string { return fmt.Sprintf("%s panicked: %v", p.Code, p.Value) }

// Run calls f, and returns the panic of f, or nil. The caller can tell this panic from a *Panic that f got as an error.
func Run(code string, f func()) (p *Panic) {
	defer func() {
		if value := recover(); value != nil {
			p = &Panic{Code: code, Value: value, Place: place(), Stack: debug.Stack()}
		}
	}()
	f()
	return nil
}

// place returns the place of the panic. It must be called by the deferred function.
func place() string {
	callers := make([]uintptr, 32)
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers)])
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		if frame.Function != "" && !strings.HasPrefix(frame.Function, "runtime.") {
			return fmt.Sprintf("%s:%d", filepath.Base(frame.File), frame.Line)
		}
	}
	return "an unknown place"
}

// Call calls f and returns its results. If f panics, the result is the zero value, and the error is a *Panic.
func Call[R any](code string, f func() (R, error)) (result R, err error) {
	if p := Run(code, func() { result, err = f() }); p != nil {
		return result, p
	}
	return result, err
}
