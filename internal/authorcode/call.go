package authorcode

import (
	"fmt"
	"runtime/debug"
)

// Panic is the error of code that panicked.
type Panic struct {
	// Code names the code, as the subject of a sentence, such as "the generator".
	Code string
	// Value is the value of the panic.
	Value any
	// Stack is the stack at the panic. It contains addresses, so it differs each time.
	Stack []byte
}

// Error returns a text without the stack.
func (p *Panic) Error() string { return fmt.Sprintf("%s panicked: %v", p.Code, p.Value) }

// Do calls f. If f panics, the error is a *Panic.
func Do(code string, f func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &Panic{Code: code, Value: value, Stack: debug.Stack()}
		}
	}()
	return f()
}

// Call calls f and returns its results. If f panics, the result is the zero value, and the error is a *Panic.
func Call[R any](code string, f func() (R, error)) (result R, err error) {
	err = Do(code, func() (err error) {
		result, err = f()
		return err
	})
	return result, err
}
