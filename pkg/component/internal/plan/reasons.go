package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/component/result"
)

// Reason is the reason for an action. Events, logs and plans show it after the name of the object.
type Reason string

// The reasons of actions.
const (
	ReasonNew            Reason = "it is new"
	ReasonMissing        Reason = "somebody deleted it"
	ReasonChanged        Reason = "its manifest changed"
	ReasonDrifted        Reason = "it drifted"
	ReasonUnlabelled     Reason = "somebody removed or replaced its owner label"
	ReasonAdopted        Reason = "it exists and no component owns it"
	ReasonTakenOver      Reason = "it exists, and its adoption policy is always"
	ReasonListed         Reason = "it exists, and the component lists it to adopt"
	ReasonReleased       Reason = "it exists, and the component released it before"
	ReasonMoved          Reason = "the component owned it in another cluster"
	ReasonSettings       Reason = "its settings changed"
	ReasonTriggered      Reason = "the component changed"
	ReasonReapply        Reason = "its reapply interval is over"
	ReasonAlways         Reason = "its reconcile policy is always"
	ReasonObserved       Reason = "the component only observes it"
	ReasonExports        Reason = "it exports values that no watch shows"
	ReasonUnverified     Reason = "it is not known whether it drifted since it was applied"
	ReasonUnmarked       Reason = "it is not known whether it belongs to another tool"
	ReasonUnwatched      Reason = "its type cannot be watched"
	ReasonGoneUnread     Reason = "the condition of its deletion reads its content"
	ReasonUnread         Reason = "the condition of its readiness reads its content"
	ReasonUnmatched      Reason = "its matcher compares its content"
	ReasonDiffers        Reason = "it differs from its manifest"
	ReasonConfirm        Reason = "its absence must be confirmed"
	ReasonNotServed      Reason = "its type is not served"
	ReasonPruned         Reason = "it is no longer rendered"
	ReasonExcluded       Reason = "its condition include-when is false"
	ReasonPurged         Reason = "its purge wave is ready"
	ReasonPurgedFailed   Reason = "it failed"
	ReasonDeleted        Reason = "the component is being deleted"
	ReasonClaimOrphaned  Reason = "a claim is deleted only if its delete policy is delete"
	ReasonOrphaned       Reason = "its delete policy orphans it"
	ReasonNeeded         Reason = "the component needs it itself"
	ReasonInUse          Reason = "an object that is kept uses it"
	ReasonNotDeletable   Reason = "its kind cannot delete it"
	ReasonPermanent      Reason = "Kubernetes never deletes this namespace"
	ReasonTryDelete      Reason = "the deletion of a definition is tried before a guard is set up"
	ReasonGuard          Reason = "definitions are about to be deleted"
	ReasonUnguard        Reason = "no definition is about to be deleted"
	ReasonRepairConflict Reason = "an unknown client reverts its repairs"
	// ReasonNamespace is the reason for the creation of a namespace that is not a dependent.
	ReasonNamespace Reason = "dependents need it, and it does not exist"
	// ReasonOwnNamespace, ReasonUnneeded and ReasonNamespaceKept are the reasons for the creation, the deletion and the
	// release of a namespace that was created for the component.
	ReasonOwnNamespace  Reason = "dependents need it, it does not exist, and it is deleted with them"
	ReasonUnneeded      Reason = "it was created for dependents, and none needs it any more"
	ReasonNamespaceKept Reason = "it was created for dependents, and is kept"
)

// Adopts reports whether an action with this reason makes the component the owner of an object that it did not own.
func (r Reason) Adopts() bool { return r.AdoptsUnowned() || r == ReasonTakenOver || r == ReasonMoved }

// AdoptsUnowned reports whether an action with this reason adopts an object without an owner.
func (r Reason) AdoptsUnowned() bool {
	return r == ReasonAdopted || r == ReasonListed || r == ReasonReleased
}

// WaitReason is the reason why an object is Unknown, why an action on it failed, or why the component waits for it: a
// CamelCase word that is reported with the object. Rules compare the reason, never the message. The reason of a failure
// may also be a reason of the API server (metav1.StatusReason). The reason for an object that is applied but not ready
// is the state of its readiness (ready.State).
type WaitReason string

// IsRefusal reports whether the reason is that of a write which failed, so that a live object is not in its desired
// state, whether it is ready or not.
func (r WaitReason) IsRefusal() bool {
	switch r {
	case WaitNone, WaitObserving, WaitListFailed, WaitUnwatched, WaitNotListable, WaitNotServed, WaitInProgress,
		WaitTerminating, WaitNotGone, WaitUnguarded, WaitAbsent, WaitUndecided, WaitLeftAlone, WaitExport, WaitOpenSet,
		WaitExportFailed, WaitRepairConflict, WaitDependentFailed, WaitTimeout, WaitNotEmpty,
		WaitDependency,
		WaitReason(ready.Unknown), WaitReason(ready.Failed), WaitReason(ready.Ready):
		return false
	case WaitUnauthorized,
		WaitOwnershipConflict,
		WaitChangedMeanwhile,
		WaitBindingFailed,
		WaitNotDeterministic,
		WaitMatcherFailed,
		WaitImmutable,
		WaitUnreadable,
		WaitNamespaceMissing,
		WaitNamespaceTerminating,
		WaitForbidden,
		WaitInvalid,
		WaitNotFound,
		WaitTooLarge,
		WaitAPIError,
		WaitUnreachable,
		WaitCreateUncertain,
		WaitCallFailed,
		WaitNoHandler,
		WaitStateDamaged,
		WaitError:
		return true
	}
	// The API server gave another reason.
	return true
}

// isInherent reports whether a failure with this reason, and without a cause, is a property of the object.
func (r WaitReason) isInherent() bool {
	return r == WaitOwnershipConflict || r == WaitTooLarge || r == WaitNotListable || r.isInvalid()
}

// isInvalid reports whether the API server refused an object for its content.
func (r WaitReason) isInvalid() bool {
	return r == WaitInvalid || r == WaitImmutable || r == WaitReason(metav1.StatusReasonBadRequest)
}

// The reasons for which an object is Unknown.
const (
	// WaitNone: the state of the object is known.
	WaitNone WaitReason = ""
	// WaitObserving: the first list of the object's type is not complete yet.
	WaitObserving WaitReason = "Observing"
	// WaitListFailed: the objects of the object's type could not be listed. The list is repeated.
	WaitListFailed WaitReason = "ListFailed"
	// WaitUnwatched: the object's type cannot be watched, because the identity that watches lacks the right, or because
	// the API server does not support it. Single objects can be read.
	WaitUnwatched WaitReason = "Unwatched"
	// WaitUnauthorized: the API server refuses the credentials.
	WaitUnauthorized WaitReason = "Unauthorized"
	// WaitNotListable: the API server stores no objects of the object's type, for example of SubjectAccessReview, so it
	// cannot list them.
	WaitNotListable WaitReason = "NotListable"
	// WaitNotServed: the API server does not serve the object's type. Failed requests may have this reason, too.
	WaitNotServed WaitReason = metav1alpha1.ReasonKindNotServed
)

// The reasons for which a component waits, although nothing failed.
const (
	WaitInProgress  WaitReason = "InProgress"
	WaitTerminating WaitReason = "Terminating"
	WaitNotGone     WaitReason = "NotGone"
	WaitUnguarded   WaitReason = "NotGuarded"
	// WaitAbsent: the object does not exist, and its reconcile policy does not create it, or there is no rendering of it.
	WaitAbsent WaitReason = "Absent"
	// WaitUndecided: a condition of the object, or of an object that it depends on, has no value.
	WaitUndecided WaitReason = result.ReportUndecided
	// WaitDependency: an object that the object depends on is not applied, or not ready.
	WaitDependency WaitReason = result.ReportDependency
	// WaitLeftAlone: the author's comparison leaves the object alone for some time, although its manifest changed.
	WaitLeftAlone WaitReason = "LeftAlone"
	// WaitExport: the object binds a value that another dependent does not export yet.
	WaitExport WaitReason = result.ReportExport
	// WaitOpenSet: the rendering asked for an export that the object has no value of now.
	WaitOpenSet WaitReason = metav1alpha1.ReasonRenderingIncomplete
	// WaitRepairConflict: another client repeatedly deletes the object or takes it over, and the repair is deferred.
	WaitRepairConflict WaitReason = result.ReportRepairConflict
)

// The reasons of failures that rules find.
const (
	WaitOwnershipConflict WaitReason = metav1alpha1.ReasonOwnershipConflict
	WaitDependentFailed   WaitReason = metav1alpha1.ReasonDependentFailed
	// WaitTimeout: the object was not ready within its timeout.
	WaitTimeout WaitReason = metav1alpha1.ReasonTimeout
	// WaitNotEmpty: a namespace holds objects that would be deleted only because the namespace is deleted.
	WaitNotEmpty WaitReason = "NamespaceNotEmpty"
	// WaitChangedMeanwhile: other clients changed the object between the plan and the action, in each attempt.
	WaitChangedMeanwhile WaitReason = "ChangedMeanwhile"
	// WaitNotDeterministic: the manifest differs at each rendering of the same inputs.
	WaitNotDeterministic WaitReason = "NotDeterministic"
	// WaitImmutable: the manifest changes a field that cannot change.
	WaitImmutable WaitReason = "Immutable"
	// WaitMatcherFailed: the author's comparison of the object with its manifest failed.
	WaitMatcherFailed WaitReason = "MatcherFailed"
	// WaitExportFailed: the expression of an export failed. WaitBindingFailed: a hole could not be filled.
	WaitExportFailed  WaitReason = "ExportFailed"
	WaitBindingFailed WaitReason = "BindingFailed"
	// WaitUnreadable: a compressed manifest in memory could not be read.
	WaitUnreadable WaitReason = "ManifestUnreadable"
)

// The reasons of failures of externals.
const (
	// WaitCreateUncertain: it is not known whether a create had an effect, and nothing but a person can find out.
	WaitCreateUncertain WaitReason = result.ReportCreateUncertain
	// WaitCallFailed: a call for an external failed.
	WaitCallFailed WaitReason = "CallFailed"
	// WaitNoHandler: no handler is registered for the kind of an external.
	WaitNoHandler WaitReason = "NoHandler"
	// WaitStateDamaged: the recorded state of an external was edited or lost.
	WaitStateDamaged WaitReason = result.ReportStateDamaged
)

// The reasons of failed requests. WaitNamespaceMissing and WaitNamespaceTerminating are failures of creates because of
// the state of the namespace.
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
