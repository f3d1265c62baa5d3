package result

import (
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Waiting is a dependent that the component waits for before it is Ready or deleted.
type Waiting struct {
	metav1alpha1.DependentReport
	// Key, UID and Generation identify the live object if it is applied and not ready, or if it is being deleted. They
	// are empty otherwise.
	Key        manifests.Key
	UID        types.UID
	Generation int64
	// Failed is set if the last write of the dependent failed, or if the dependent itself reports failure. Terminal is set
	// if a retry cannot help.
	Failed, Terminal bool
	// Refused is set if the failure is a property of the object: the API server refuses its manifest, or the object
	// belongs to somebody else. Neither time nor rights nor other dependents end such a failure.
	Refused bool
	// Field is the first invalid field of the manifest, if the failure is about one and the field is known.
	Field string
	// Purged is set if the dependent had failed and was deleted, as its manifest requires.
	Purged bool
	// Open is set if the rendering asked for an export that the dependent has no value of.
	Open bool
	// Undefined is set if the type of the dependent is not served, and neither a dependent nor the component defines it.
	// The component continues when the type is served.
	Undefined bool
}

// Blocked is a managed type with foreign instances.
type Blocked struct {
	Type string
	// Count is the number of foreign instances, and Names are the first ten of them. Error is set if the instances
	// could not be listed.
	Count int
	Names []string
	Error string
}

// Unlisted reports whether the instances could not be listed. No watch event ends the wait for such instances.
func (b Blocked) Unlisted() bool { return b.Error != "" }

// Unwatched is a type that cannot be watched. Message gives the cause and the remedy.
type Unwatched struct {
	Type, Message string
}

// Change is a write of a dependent.
type Change struct {
	Verb   string
	Key    manifests.Key
	Wave   int
	Reason string
	// From says who had the object, if the verb is Adopt; see Adoption. Note is what a user has to know about the adoption
	// besides, such as that a Job is complete already, so that it does not run again, or why a namespace that was created
	// for the component is kept; mostly empty.
	From, Note string
}
