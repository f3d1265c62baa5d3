package external

import (
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Kind handles the externals of one kind. S is the spec of a manifest, O is the observed state of an external; both are
// converted from and to JSON. The optional interfaces below say what else the kind can do. The component waits for an
// external of a kind without Creator until somebody else creates it, and releases an external of a kind without Deleter
// instead of deleting it.
//
// All methods must be safe for concurrent use and honour ctx, which ends at the time-out of the call. A panic counts as
// an error. Errors must not contain credentials, because they are shown in the status of the component.
type Kind[S, O any] interface {
	// Observe returns the state of the external r.ID. The error is ErrNotFound if the external does not exist. r.Spec may
	// name another external, because it is the desired spec.
	Observe(ctx context.Context, r Ref[S]) (O, error)
}

// Creator creates externals.
type Creator[S, O any] interface {
	// Create creates an external. All attempts for the same external have the same r.Token: store it with the external as
	// a tag, or send it as an idempotency key. Return ErrExists if an external with this identity exists already, and an
	// error marked by Refused if the call certainly had no effect, for example because the zone of the new record does
	// not exist. After any other error it is not known whether the external exists, so Create is not called again before
	// this is known; see Finder, Identifier and Options.IdempotentFor. ErrNotFound is such an error, too. HTTPCreateError
	// makes the error from an HTTP answer.
	Create(ctx context.Context, r Ref[S]) (Created[O], error)
}

// Created is the result of Creator.Create.
type Created[O any] struct {
	// ID identifies the external in later calls. It may be empty if the kind is an Identifier.
	ID string
	// State is kept with the external, in a Secret, and is given back in Ref.State; at most MaxState bytes. It is lost
	// with the answer: an external that is found after an uncertain create has none.
	State []byte
	// Observed is the state of the new external.
	Observed O
}

// Updater changes an existing external. An external of a kind without Updater must not change: a changed spec leads to
// a new external under the update policy recreate, and to an error under every other policy.
type Updater[S, O any] interface {
	// Update brings the external r.ID to r.Spec. observed is its current state. Update may be called again after an
	// unknown result, so it must be idempotent. After any error, also ErrNotFound, the external is observed again.
	Update(ctx context.Context, r Ref[S], observed O) (O, error)
}

// Deleter deletes externals.
type Deleter[S any] interface {
	// Delete begins the deletion of the external r.ID. Observe shows when the external does not exist any more. Delete
	// may be called several times. For an external that does not exist it returns nil or ErrNotFound; both mean that
	// there is nothing to delete. r.Spec is the spec that was applied last.
	Delete(ctx context.Context, r Ref[S]) error
}

// Identifier knows the id of an external before the external exists.
type Identifier[S any] interface {
	// Identify returns the id of the external with the given spec. It must not wait.
	Identify(spec S) string
}

// Finder finds an external whose creation had an unknown result. If Find finds nothing twice, Create is called again
// with the same token.
type Finder[S any] interface {
	// Find returns the id of the external that carries r.Token. If there is none, found is false or the error is
	// ErrNotFound.
	Find(ctx context.Context, r Ref[S]) (id string, found bool, err error)
}

// Tagged reads the token that an external carries. With it, an external of another owner is never taken for one of the
// component.
type Tagged[O any] interface {
	// Token returns the token in the observed state, and an empty text if the external carries none.
	Token(observed O) string
}

// Matcher compares an external with its spec. By default, an external matches if the JSON form of the observed state
// has every value that the JSON form of the spec sets. Lists have the same length and order; null, an empty text, zero,
// false, an empty list and an empty map also match a field that the observed state does not have.
type Matcher[S, O any] interface {
	// Match says how the observed state differs from the spec. It returns an empty text if the external need not be
	// updated. It must not wait.
	Match(spec S, observed O) (differs string)
}

// Immutable names the fields of a spec that cannot be changed. Such a change leads to a new external under the update
// policy recreate, and to an error that names the fields under every other policy.
type Immutable[S any] interface {
	// ImmutableChanges returns the paths of the changed fields that cannot be changed, such as spec.charset; see Changed.
	ImmutableChanges(applied, desired S) []string
}

// Validator refuses a spec before anything of its component is created.
type Validator[S any] interface {
	// Validate returns an error that names the field and the required correction.
	Validate(spec S) error
}

// Readier decides whether an external is ready. By default, an external is ready as soon as it exists.
type Readier[O any] interface {
	// Ready reports whether the external is ready, and otherwise what it waits for.
	Ready(observed O) (ready bool, message string)
}

// Poller sets the delay before the next poll of an external.
type Poller[O any] interface {
	// PollAfter returns the delay; zero or less means Options.Poll.
	PollAfter(observed O) time.Duration
}

// Lister observes all externals of an account with one call. For an API that lists a part of the system, such as a
// zone, Options.Account returns the part, which is Account.Name in the call.
type Lister[O any] interface {
	// List returns the externals of an account by id. An external that is missing in the list is observed by a call of its
	// own, because a list never proves that an external does not exist. The result may have externals of others. Any
	// error, also ErrNotFound, means that the list failed, and says nothing about single externals.
	List(ctx context.Context, a Account) (map[string]O, error)
}

// Ref names an external, and contains all that a call needs to know about the external. It is read-only.
type Ref[S any] struct {
	// Component is the component of the external. It is a copy with metadata and spec. In a service it has type and
	// metadata only.
	Component client.Object
	// Key is the key of the manifest. Its group is Group, and its namespace is empty.
	Key manifests.Key
	// Spec is the desired spec. For Delete, and for Observe while the external is not desired, it is the spec that was
	// applied last; nothing is rendered then.
	Spec S
	// ID identifies the external. It is empty for Create and Find.
	ID string
	// Token identifies the attempts to create one external: 40 hexadecimal digits. An external that is created again after
	// its deletion, or with another spec, has another token.
	Token string
	// State is Created.State. It is empty for an external that was adopted, or that Identifier, Finder or a person found
	// after its answer or its record was lost. So a kind with a State must be able to work without it.
	State []byte
	// References are the Secrets and ConfigMaps that the manifest names. The component itself need not reference them.
	References generator.References
}

// Account names the external system and the credentials that externals share. The limits in Options hold for each
// account. Externals with different credentials never share an account.
type Account struct {
	// Name is the result of Options.Account.
	Name string
	// References are the references of one of the externals. All externals of the account have references with equal
	// contents.
	References generator.References
}

// ErrNotFound is the error of a call for an external that does not exist.
var ErrNotFound = errors.New("the external does not exist")

// ErrExists is the error of Create if an external with this identity exists already. Nothing was created.
var ErrExists = errors.New("an external with this identity exists already")

// Refused marks the error of a call that certainly had no effect: the request was not sent, or was answered with a
// refusal. Only a change of the spec, of the credentials or of the external system can help; the call is repeated at
// the retry interval of the component. RefusedFor is for a refusal that ends by itself.
func Refused(err error) error {
	if err == nil {
		return nil
	}
	return &RefusedError{Cause: err}
}

// RefusedFor marks the error of a call that certainly had no effect and may succeed later, such as one above a rate
// limit. The next call is made after the given time; zero or less means the back-off.
func RefusedFor(err error, after time.Duration) error {
	if err == nil {
		return nil
	}
	return &RefusedError{Cause: err, Temporary: true, After: max(0, after)}
}

// RefusedError is the error that Refused and RefusedFor make.
type RefusedError struct {
	Cause error
	// Temporary is set by RefusedFor. After is the delay before the next call; zero means the back-off.
	Temporary bool
	After     time.Duration
}

// Error implements error.
func (e *RefusedError) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *RefusedError) Unwrap() error { return e.Cause }
