package isolate

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// failure is an error as data. It keeps the message, and the types that callers distinguish: errors that are retried
// after a delay, terminal errors, errors of an API server, and the end of a context.
type failure struct {
	Message string
	// Answers are the answers of the parent whose errors are in the chain. The parent puts the original errors into the
	// chain again.
	Answers []uint64 `cbor:",omitempty"`
	// RetryAfter is set if the error has a method RetryAfter.
	RetryAfter *time.Duration `cbor:",omitempty"`
	// Terminal is set for a reconcile.TerminalError.
	Terminal bool `cbor:",omitempty"`
	// Status is the JSON text of the status of an API server.
	Status []byte `cbor:",omitempty"`
	// NoMatch is set for a kind that is not served.
	NoMatch *noMatch `cbor:",omitempty"`
	// Request is the operation of a failed HTTP request.
	Request           string `cbor:",omitempty"`
	Canceled, Expired bool   `cbor:",omitempty"`
	// Panicked is the stack of a panic.
	Panicked string `cbor:",omitempty"`
}

// noMatch is a meta.NoKindMatchError as data.
type noMatch struct {
	Kind     schema.GroupKind
	Versions []string
}

// failureOf returns an error as data, and nil for nil.
func failureOf(err error) *failure {
	if err == nil {
		return nil
	}
	f := &failure{
		Message: err.Error(), Answers: answersIn(err, nil), Terminal: errors.Is(err, reconcile.TerminalError(nil)),
		Canceled: errors.Is(err, context.Canceled), Expired: errors.Is(err, context.DeadlineExceeded),
	}
	var retry interface{ RetryAfter() time.Duration }
	if errors.As(err, &retry) {
		f.RetryAfter = new(retry.RetryAfter())
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		// A status is plain data, so that it can always be encoded.
		f.Status, _ = json.Marshal(status.Status())
	}
	if unserved, ok := errors.AsType[*meta.NoKindMatchError](err); ok {
		f.NoMatch = &noMatch{Kind: unserved.GroupKind, Versions: unserved.SearchedVersions}
	} else if meta.IsNoMatchError(err) {
		f.NoMatch = &noMatch{}
	}
	if request, ok := errors.AsType[*url.Error](err); ok {
		f.Request = request.Op
	}
	return f
}

// error returns the error again. original returns the error of an answer, or nil.
func (f *failure) error(original func(id uint64) error) error {
	if f == nil {
		return nil
	}
	e := &carriedError{message: f.Message}
	for _, id := range f.Answers {
		if err := original(id); err != nil {
			e.causes = append(e.causes, err)
		}
	}
	if f.RetryAfter != nil {
		e.causes = append(e.causes, retryError{*f.RetryAfter})
	}
	if f.Terminal {
		e.causes = append(e.causes, reconcile.TerminalError(errors.New(f.Message)))
	}
	if len(f.Status) > 0 {
		var status metav1.Status
		if err := json.Unmarshal(f.Status, &status); err == nil {
			e.causes = append(e.causes, &apierrors.StatusError{ErrStatus: status})
		}
	}
	if f.NoMatch != nil {
		e.causes = append(e.causes,
			&meta.NoKindMatchError{GroupKind: f.NoMatch.Kind, SearchedVersions: f.NoMatch.Versions})
	}
	if f.Request != "" {
		e.causes = append(e.causes, &url.Error{Op: f.Request, Err: errors.New(f.Message)})
	}
	if f.Canceled {
		e.causes = append(e.causes, context.Canceled)
	}
	if f.Expired {
		e.causes = append(e.causes, context.DeadlineExceeded)
	}
	return e
}

// carriedError is an error from the other side of the pipe.
type carriedError struct {
	message string
	causes  []error
}

// Error implements error.
func (e *carriedError) Error() string { return e.message }

// Unwrap returns the errors that the error is made of.
func (e *carriedError) Unwrap() []error { return e.causes }

// retryError is the delay of an error that is retried.
type retryError struct{ after time.Duration }

// Error implements error.
func (e retryError) Error() string { return fmt.Sprintf("retry after %s", e.after) }

// RetryAfter returns the delay.
func (e retryError) RetryAfter() time.Duration { return e.after }

// answerError is the error of an answer, in the child.
type answerError struct {
	id  uint64
	err error
}

// Error implements error.
func (e *answerError) Error() string { return e.err.Error() }

// Unwrap returns the error.
func (e *answerError) Unwrap() error { return e.err }

// maxCauses limits the number of answers that a failure names.
const maxCauses = 100

// answersIn appends the answers whose errors are in the chain of err.
func answersIn(err error, answers []uint64) []uint64 {
	if len(answers) >= maxCauses {
		return answers
	}
	switch wrapped := any(err).(type) {
	case *answerError:
		return append(answers, wrapped.id)
	case interface{ Unwrap() error }:
		if cause := wrapped.Unwrap(); cause != nil {
			return answersIn(cause, answers)
		}
	case interface{ Unwrap() []error }:
		for _, cause := range wrapped.Unwrap() {
			answers = answersIn(cause, answers)
		}
	}
	return answers
}
