package tree

import (
	"cmp"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Node describes one dependent of a component: its place in the apply order and its live state.
type Node struct {
	Key manifests.Key
	// Version is the API version in which the dependent is applied. Version is empty if the dependent is not in the
	// inventory.
	Version string
	// Wave is the apply order of the dependent, and Stage the step within the wave.
	Wave  int
	Stage manifests.Stage
	// DependsOn are the objects and groups that the dependent depends on, in the form of the annotation depends-on. If
	// there are any, the dependent belongs to no wave.
	DependsOn []string
	// Observed is set if the component only reads the object, by the reconcile policy observe.
	Observed bool
	// Ignored are the fields that are left to others, by the rules with which the object was applied last.
	Ignored []result.IgnoredField
	// UID is the UID of the live object. UID is empty if the object does not exist or could not be read. The UID of an
	// external is its recorded token.
	UID   types.UID
	State result.NodeState
	// Reason is a CamelCase word that refines the states Missing and Unknown. Message explains a state other than
	// Ready. Reason and Message contain no data of Secrets.
	Reason, Message string
}

// The reasons of nodes that are Missing or Unknown.
const (
	// ReasonNotFound: no object with the name of the dependent exists.
	ReasonNotFound = "NotFound"
	// ReasonNotCreated: no object with the name of the dependent exists, because it has not been created yet.
	ReasonNotCreated = "NotCreated"
	// ReasonReplaced: an object with the name of the dependent exists, but its UID differs from the recorded UID.
	ReasonReplaced = "Replaced"
	// ReasonNotRecorded: an object with the name of the dependent exists, but the inventory shows no write to it. The
	// object may not belong to the component.
	ReasonNotRecorded = "NotRecorded"
	// ReasonForbidden: the caller has no permission to read the object.
	ReasonForbidden = "Forbidden"
	// ReasonNotServed: the API server does not serve the kind of the object.
	ReasonNotServed = string(plan.WaitNotServed)
	// ReasonNotAsked: the dependent is outside Kubernetes, where only the operator asks; see AddExternals.
	ReasonNotAsked = "NotAsked"
	// ReasonNotRead: the object could not be read, for a reason not listed above.
	ReasonNotRead = "NotRead"
)

func compareNodes(a, b Node) int {
	return cmp.Or(
		cmp.Compare(a.Wave, b.Wave),
		cmp.Compare(a.Stage, b.Stage),
		cmp.Compare(a.Key.Kind, b.Key.Kind),
		a.Key.Compare(b.Key),
	)
}
