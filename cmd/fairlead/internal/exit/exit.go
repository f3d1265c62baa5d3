package exit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fairlead-io/fairlead/internal/apitext"
)

// Code is an exit code of the program.
type Code int

// The exit codes.
const (
	// Yes: the condition is true, or the change was made.
	Yes Code = 0
	// No: the condition is false, the object does not exist, or the API server refused a write.
	No Code = 1
	// Misuse: the command line, or a file that it names, is invalid.
	Misuse Code = 2
	// NotAsked: there is no result, because of the kubeconfig, the connection, or a missing right.
	NotAsked Code = 3
	// Interrupted: SIGINT ended the command before it had a result. Shells expect 128 plus the number of the signal.
	Interrupted Code = 130
)

// SignalError is the cause of a context that was cancelled because of a signal.
type SignalError struct{ Signal os.Signal }

// Error names the signal.
func (e SignalError) Error() string { return fmt.Sprintf("signal: %s", e.Signal) }

// InterruptedBy returns the exit code of a command whose context ended with this cause: 128 plus the number of the
// signal for a SignalError, and Interrupted for any other cause.
func InterruptedBy(cause error) Code {
	if received, ok := errors.AsType[SignalError](cause); ok {
		if number, ok := received.Signal.(syscall.Signal); ok {
			return Code(128 + int(number))
		}
	}
	return Interrupted
}

// Error is an error with an exit code.
type Error struct {
	Code Code
	// Usage reports whether the command line is wrong, so that the program refers to --help.
	Usage bool
	// Shown reports whether the output of the command already explains the error, so that its message is not printed.
	Shown bool
	Err   error
}

// Error returns the message of Err.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Refuse returns an error with the code No. If the error wraps an error for which IsUnasked is true, the result is
// unknown and the code is NotAsked.
func Refuse(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if IsUnasked(err) {
		return &Error{Code: NotAsked, Err: err}
	}
	return &Error{Code: No, Err: err}
}

// RefuseShown returns an error with the code No for a reason that the command has already printed.
func RefuseShown(format string, args ...any) error {
	return &Error{Code: No, Shown: true, Err: fmt.Errorf(format, args...)}
}

// IsShown reports whether the command has already printed the reason of an error.
func IsShown(err error) bool {
	known, ok := errors.AsType[*Error](err)
	return ok && known.Shown
}

// BadUsage returns an error about the command line.
func BadUsage(format string, args ...any) error {
	return &Error{Code: Misuse, Usage: true, Err: fmt.Errorf(format, args...)}
}

// IsBadUsage reports whether an error is about the command line.
func IsBadUsage(err error) bool {
	known, ok := errors.AsType[*Error](err)
	return ok && known.Usage
}

// BadInput returns an error about a file, a folder or a name on the command line.
func BadInput(format string, args ...any) error {
	return &Error{Code: Misuse, Err: fmt.Errorf(format, args...)}
}

// Unasked returns an error with the code NotAsked.
func Unasked(format string, args ...any) error {
	return &Error{Code: NotAsked, Err: fmt.Errorf(format, args...)}
}

// CodeOf returns the exit code of an error. An error of unknown type has the code NotAsked, because it is probably an
// error of the connection.
func CodeOf(err error) Code {
	if err == nil {
		return Yes
	}
	if known, ok := errors.AsType[*Error](err); ok {
		return known.Code
	}
	switch {
	case errors.Is(err, context.Canceled):
		return Interrupted
	case IsUnasked(err):
		return NotAsked
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return No
	}
	return NotAsked
}

// Decisive returns the index of the error that determines the exit code of a command with several errors, at least one:
// the first with the code NotAsked, because then the result is unknown, or else the first.
func Decisive(errs []error) int {
	return max(0, slices.IndexFunc(errs, func(err error) bool { return CodeOf(err) == NotAsked }))
}

// Join returns one error with the messages of several errors, and the code of the one that is decisive. It returns nil
// if there are none.
func Join(errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	return &Error{
		Code: CodeOf(errs[Decisive(errs)]), Usage: slices.ContainsFunc(errs, IsBadUsage), Err: errors.Join(errs...),
	}
}

// IsUnasked reports whether a request failed because of a missing right, the authentication, or the state of the API
// server, such as an overload.
func IsUnasked(err error) bool {
	return apitext.MissingRight(err) || apierrors.IsUnauthorized(err) ||
		apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) || apierrors.IsUnexpectedServerError(err)
}

// Line returns the message of an error as one line. It joins lines with a semicolon, except after a question mark or a
// colon.
func Line(err error) string {
	var line strings.Builder
	for part := range strings.FieldsFuncSeq(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }) {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		switch sofar := line.String(); {
		case sofar == "":
		case strings.HasSuffix(sofar, "?"), strings.HasSuffix(sofar, ":"):
			line.WriteString(" ")
		default:
			line.WriteString("; ")
		}
		line.WriteString(part)
	}
	return line.String()
}

// maxUnreadable is the maximum number of objects that the error of Unreadable names.
const maxUnreadable = 3

// Unreadable returns an error that names the objects of a component that could not be read, or nil if objects is empty.
// Commands return the error after they have shown the other objects.
func Unreadable(component string, objects []string) error {
	switch more := len(objects) - maxUnreadable; {
	case len(objects) == 0:
		return nil
	case more > 0:
		objects = append(slices.Clone(objects[:maxUnreadable]), fmt.Sprintf("and %d more", more))
	}
	return Unasked("%s: these objects cannot be read: %s", component, strings.Join(objects, ", "))
}
