package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
)

// Reason is the reason for an action. It appears in events, logs and plans, after the object that it is about.
type Reason string

// The reasons of actions.
const (
	ReasonNew            Reason = "it is new"
	ReasonMissing        Reason = "somebody deleted it"
	ReasonChanged        Reason = "its manifest changed"
	ReasonDrifted        Reason = "it drifted"
	ReasonUnlabelled     Reason = "somebody removed its owner label"
	ReasonAdopted        Reason = "it exists and nobody owns it"
	ReasonTakenOver      Reason = "it exists, and its adoption policy is always"
	ReasonSettings       Reason = "its settings changed"
	ReasonTriggered      Reason = "the component changed"
	ReasonReapply        Reason = "its reapply interval is over"
	ReasonUnverified     Reason = "it is not known whether it drifted since it was applied"
	ReasonUnwatched      Reason = "its type cannot be watched"
	ReasonConfirm        Reason = "its absence must be confirmed"
	ReasonPruned         Reason = "it is no longer rendered"
	ReasonPurged         Reason = "its purge wave is ready"
	ReasonPurgedFailed   Reason = "it failed"
	ReasonDeleted        Reason = "the component is being deleted"
	ReasonClaimOrphaned  Reason = "a claim is deleted only if its delete policy is delete"
	ReasonOrphaned       Reason = "its delete policy orphans it"
	ReasonGuard          Reason = "definitions are about to be deleted"
	ReasonUnguard        Reason = "no definition is about to be deleted"
	ReasonRepairConflict Reason = "an unknown client reverts its repairs"
	// ReasonNamespace is the reason for the creation of a namespace that is no dependent.
	ReasonNamespace Reason = "dependents need it, and it does not exist"
)

// Adopts reports whether an action with this reason makes the component the owner of an object that it did not own.
func (r Reason) Adopts() bool { return r == ReasonAdopted || r == ReasonTakenOver }

// WaitReason is the reason why an object is Unknown, why an action on it failed, or why the component waits for it: a
// CamelCase word that is reported with the object. Rules decide by it, never by the message. For a failure it may also
// be any reason that the API server gave (metav1.StatusReason), and for an object that is applied but not ready the
// state of its readiness (ready.State).
type WaitReason string

// IsRefusal reports whether the reason is that of a write which failed, so that a live object is not in its desired
// state, whether it is ready or not.
func (r WaitReason) IsRefusal() bool {
	switch r {
	case WaitNone, WaitObserving, WaitListFailed, WaitUnwatched, WaitNotListable, WaitNotServed, WaitInProgress,
		WaitTerminating, WaitNotGone, WaitUnguarded, WaitRepairConflict, WaitDependentFailed, WaitTimeout, WaitNotEmpty,
		WaitReason(ready.Unknown), WaitReason(ready.Failed), WaitReason(ready.Ready):
		return false
	case WaitUnauthorized, WaitOwnershipConflict, WaitContended, WaitNotDeterministic, WaitImmutable, WaitUnreadable,
		WaitNamespaceMissing, WaitNamespaceTerminating, WaitForbidden, WaitInvalid, WaitNotFound, WaitTooLarge,
		WaitAPIError, WaitUnreachable, WaitError:
		return true
	}
	// The API server gave another reason.
	return true
}

// The reasons for which an object is Unknown.
const (
	// WaitNone: the state of the object is known.
	WaitNone WaitReason = ""
	// WaitObserving: the first list of its type is under way.
	WaitObserving WaitReason = "Observing"
	// WaitListFailed: the objects of its type could not be listed; the list is tried again.
	WaitListFailed WaitReason = "ListFailed"
	// WaitUnwatched: the rights of the reader, or the API server, do not allow to watch its type; single objects can be
	// read.
	WaitUnwatched WaitReason = "Unwatched"
	// WaitUnauthorized: the API server refuses the credentials.
	WaitUnauthorized WaitReason = "Unauthorized"
	// WaitNotListable: the API server stores no objects of its type, such as a SubjectAccessReview, and so cannot list
	// them.
	WaitNotListable WaitReason = "NotListable"
	// WaitNotServed: the API server does not serve its type. It is also the reason of failed requests.
	WaitNotServed WaitReason = "KindNotServed"
)

// The reasons for which a component waits, although nothing failed.
const (
	WaitInProgress  WaitReason = "InProgress"
	WaitTerminating WaitReason = "Terminating"
	WaitNotGone     WaitReason = "NotGone"
	WaitUnguarded   WaitReason = "NotGuarded"
	// WaitRepairConflict: another client deletes the object, or takes it over, repeatedly, and its repair is deferred.
	WaitRepairConflict WaitReason = "Contested"
)

// The reasons of failures that rules find.
const (
	WaitOwnershipConflict WaitReason = metav1alpha1.ReasonOwnershipConflict
	WaitDependentFailed   WaitReason = metav1alpha1.ReasonDependentFailed
	// WaitTimeout: the object was not ready within its timeout.
	WaitTimeout WaitReason = metav1alpha1.ReasonTimeout
	// WaitNotEmpty: a namespace holds objects that would be deleted only because the namespace is deleted.
	WaitNotEmpty WaitReason = "NamespaceNotEmpty"
	// WaitContended: other clients wrote the object each time between the plan and the action.
	WaitContended WaitReason = "Contended"
	// WaitNotDeterministic: the manifest differs at each rendering of the same inputs.
	WaitNotDeterministic WaitReason = "NotDeterministic"
	// WaitImmutable: the manifest changes a field that cannot change.
	WaitImmutable WaitReason = "Immutable"
	// WaitUnreadable: a manifest that is packed in memory could not be read.
	WaitUnreadable WaitReason = "ManifestUnreadable"
)

// The reasons of failed requests. WaitNamespaceMissing and WaitNamespaceTerminating are failures of creates, by the
// state of the namespace.
const (
	WaitNamespaceMissing     WaitReason = "NamespaceMissing"
	WaitNamespaceTerminating WaitReason = "NamespaceTerminating"
	WaitForbidden            WaitReason = WaitReason(metav1.StatusReasonForbidden)
	WaitInvalid              WaitReason = WaitReason(metav1.StatusReasonInvalid)
	WaitNotFound             WaitReason = WaitReason(metav1.StatusReasonNotFound)
	WaitTooLarge             WaitReason = WaitReason(metav1.StatusReasonRequestEntityTooLarge)
	// WaitAPIError: the API server gave no reason.
	WaitAPIError WaitReason = "APIError"
	// WaitUnreachable: the API server did not answer.
	WaitUnreachable WaitReason = "Unreachable"
	// WaitError: the request was not sent, or its answer could not be read.
	WaitError WaitReason = "Error"
)
