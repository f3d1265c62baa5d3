package external

import (
	"context"
	"encoding/json"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Group is the API group of the manifests of externals, and Version is its version. No API server gets an object of
// this group.
const (
	Group   = manifests.ExternalGroup
	Version = manifests.ExternalVersion
)

// Driver handles the externals of one kind as JSON. Of makes a Driver of a Kind, and Service of a service. Each method
// that takes a context is one call in the sense of Info: it ends with ctx, and its errors are those of Kind.
type Driver interface {
	// Info describes the kind. The result never changes.
	Info() Info
	// Check examines a request without a call.
	Check(r Request) Findings
	// Observe returns the state of the external r.ID.
	Observe(ctx context.Context, r Request) (Answer, error)
	// Create creates an external. The answer contains its id and its state. If the observed state cannot be used, the
	// answer contains a message with the cause, and no state. With ErrExists the answer contains the id of the existing
	// external if it is known.
	Create(ctx context.Context, r Request) (Answer, error)
	// Update observes the external r.ID and brings it to r.Spec.
	Update(ctx context.Context, r Request) (Answer, error)
	// Delete begins the deletion of the external r.ID.
	Delete(ctx context.Context, r Request) error
	// Find returns the id of the external that carries r.Token.
	Find(ctx context.Context, r Request) (id string, found bool, err error)
	// List returns the answers about those of the given externals that the list of their account has, by the position
	// in the argument.
	List(ctx context.Context, a Account, externals []Request) (map[int]Answer, error)
}

// Referrer is an optional interface of a Driver that needs Secrets and ConfigMaps for all of its calls, such as the
// credentials of a service. The reconciler treats them as references of each external of the kind: it reads them as the
// identity of the component, passes them in Request.Credentials, and holds the Secrets while externals need them.
type Referrer interface {
	// References returns the objects, in the namespace of the component. The result never changes.
	References() []metav1alpha1.Reference
}

// Info describes a kind. The times and limits have values, not defaults.
type Info struct {
	// Kind is the kind of the manifests.
	Kind string `json:"kind"`
	// These fields say which methods of Driver the kind supports.
	Creates, Updates, Deletes, Identifies, Finds, Lists bool
	// Timeout is the time-out of a call.
	Timeout time.Duration
	// Poll is the time between two observations of an external.
	Poll time.Duration
	// Settle is the time after a write within which ErrNotFound proves nothing.
	Settle time.Duration
	// IdempotentFor is the time within which Create may be repeated with the same token after an unknown result.
	IdempotentFor time.Duration
	// Concurrency is the maximum number of calls of an account at the same time.
	Concurrency int
	// Rate is the maximum number of calls of an account in a second, and Burst the number of calls without a delay.
	Rate  float64
	Burst int
}

// Request contains all that a call needs to know about an external; see Ref.
type Request struct {
	Component client.Object
	Key       manifests.Key
	// Spec is the desired spec; Applied is the spec that was applied last, nil if there is none.
	Spec, Applied json.RawMessage
	// Partial is set for Driver.Check if values of Spec are not known yet, and null in it. The values are checked later,
	// when all of them are known.
	Partial    bool
	ID, Token  string
	State      []byte
	References generator.References
	// Credentials contains the contents of the objects that the Driver itself needs; see Referrer.
	Credentials generator.References
}

// Findings are the results of Driver.Check.
type Findings struct {
	// Invalid is set if the spec cannot be used.
	Invalid error
	// ID is the id of the external if the kind is an Identifier.
	ID string
	// Account is the result of Options.Account. References with different contents are different accounts in any case.
	Account string
	// Immutable are the fields that differ between Applied and Spec and cannot be changed.
	Immutable []string
}

// Answer is the answer to a call about one external.
type Answer struct {
	// ID and State are set by Create.
	ID    string `json:"id,omitempty"`
	State []byte `json:"state,omitempty"`
	// Observed is the observed state.
	Observed json.RawMessage `json:"observed,omitempty"`
	// Token is the token that the external carries; empty if it carries none or the kind is not Tagged.
	Token string `json:"token,omitempty"`
	// Differs says how the observed state differs from Request.Spec.
	Differs string `json:"differs,omitempty"`
	// Ready and Message are the readiness.
	Ready   bool   `json:"ready,omitempty"`
	Message string `json:"message,omitempty"`
	// PollAfter is the delay before the next poll; zero means Info.Poll.
	PollAfter time.Duration `json:"pollAfter,omitempty"`
}
