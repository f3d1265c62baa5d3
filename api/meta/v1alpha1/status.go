package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Condition types of a component. They follow kstatus: Ready says whether the desired state is reached; Reconciling and
// Stalled are present, with status True, only while they apply.
const (
	// ConditionReady is True when every dependent of this generation is applied and ready, False when that is not so,
	// and Unknown while the component is suspended.
	ConditionReady = "Ready"
	// ConditionReconciling is present, with status True, while the component is on its way.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is present, with status True, while a person has to do something; the message says what.
	ConditionStalled = "Stalled"
	// ConditionGeneratorResults is present, with status True, while the generator had something to say about the last
	// rendering, besides the objects. It has no part in the state.
	ConditionGeneratorResults = "GeneratorResults"
)

// ConditionNonDeterministic is present, with status True, while the dependents hold values that a second rendering of
// the same inputs would not give, such as random passwords. What was rendered first is kept then. It says nothing about
// readiness.
const ConditionNonDeterministic = "NonDeterministic"

// ConditionContested is present, with status True, while somebody undoes the repairs of dependents again and again. Its
// message names the dependents, their fields, who changes them, and what to do. They keep the component from being
// Ready.
const ConditionContested = "Contested"

// State is a one-word summary of the conditions, for printer columns. It is an open string: clients must tolerate
// values they do not know, because an older CRD must never reject a newer status.
type State string

// The states that this version derives.
const (
	// StateReady: every dependent is applied and ready.
	StateReady State = "Ready"
	// StateProgressing: it is on its way, and nobody has to do anything.
	StateProgressing State = "Progressing"
	// StateStalled: a person has to do something.
	StateStalled State = "Stalled"
	// StateSuspended: nothing is written, because the spec says so.
	StateSuspended State = "Suspended"
	// StateDeleting: dependents are being deleted.
	StateDeleting State = "Deleting"
	// StateDeletionBlocked: the deletion is refused, and nothing was touched.
	StateDeletionBlocked State = "DeletionBlocked"
)

// Reasons of the conditions. Like states they are open strings.
const (
	// ReasonReady: every dependent is applied and ready.
	ReasonReady = "Ready"
	// ReasonObserving: watches on kinds of dependents have not delivered yet.
	ReasonObserving = "Observing"
	// ReasonDependentsNotReady: a wave waits for dependents; the message names them.
	ReasonDependentsNotReady = "DependentsNotReady"
	// ReasonDependentsNotGone: a prune or a deletion waits for dependents to disappear.
	ReasonDependentsNotGone = "DependentsNotGone"
	// ReasonRetrying: a transient error; it is retried within seconds.
	ReasonRetrying = "Retrying"
	// ReasonDependentContested: somebody undoes the repairs of dependents again and again, and all others are applied
	// and ready.
	ReasonDependentContested = "DependentContested"
	// ReasonDependentFailed: the API server refused a dependent, or a dependent reports failure.
	ReasonDependentFailed = "DependentFailed"
	// ReasonOwnershipConflict: an object that should become a dependent belongs to somebody else.
	ReasonOwnershipConflict = "OwnershipConflict"
	// ReasonFetching: the source is on its way.
	ReasonFetching = "Fetching"
	// ReasonFetchFailed: the source cannot be had, or is not the one that was asked for.
	ReasonFetchFailed = "FetchFailed"
	// ReasonGenerateFailed: the generator returned an error.
	ReasonGenerateFailed = "GenerateFailed"
	// ReasonNonDeterministic: two renderings of the same inputs differ in their objects, or in the number of elements
	// of a list.
	ReasonNonDeterministic = "NonDeterministic"
	// ReasonValuesKept: two renderings of the same inputs differ in values; those that were rendered first are kept.
	ReasonValuesKept = "ValuesKept"
	// ReasonInvalidManifests: the generated manifests, or their settings, are invalid.
	ReasonInvalidManifests = "InvalidManifests"
	// ReasonInvalidSpec: the component's spec cannot be used.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonHookFailed: an operator's own code returned an error that does not go away by itself.
	ReasonHookFailed = "HookFailed"
	// ReasonReferenceNotFound: a referenced Secret or ConfigMap does not exist.
	ReasonReferenceNotFound = "ReferenceNotFound"
	// ReasonForbidden: the component's identity, or the operator, may not do what the message names.
	ReasonForbidden = "Forbidden"
	// ReasonTimeout: the component was not ready within its timeout.
	ReasonTimeout = "Timeout"
	// ReasonSuspended: reconciling is suspended in the spec.
	ReasonSuspended = "Suspended"
	// ReasonDeleting: dependents are being deleted.
	ReasonDeleting = "Deleting"
	// ReasonForeignInstances: deletion is refused while foreign instances of managed types exist.
	ReasonForeignInstances = "ForeignInstances"
	// ReasonDeletionRefused: the operator does not delete the component, and the message says why; that it holds the
	// operator itself, say.
	ReasonDeletionRefused = "DeletionRefused"
	// ReasonWarning: the gravest of the generator's results is a warning.
	ReasonWarning = "Warning"
	// ReasonInformation: none of the generator's results is a warning.
	ReasonInformation = "Information"
	// ReasonNewerRecord: a newer version wrote the record of the dependents, and this version cannot use it. Nothing is
	// changed until a version runs that can.
	ReasonNewerRecord = "NewerRecord"
	// ReasonForeignFinalizers: deletion waits until the finalizers of others are removed from the component.
	ReasonForeignFinalizers = "ForeignFinalizers"
)

// Status is what a reconciler reports about a component. Authors embed it inline in the status of their own type. The
// reconciler is its only writer.
type Status struct {
	// ObservedGeneration is the generation of the component that the conditions speak of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Reconciler is the name of the reconciler that maintains this status; it prefixes labels and annotations of the
	// dependents.
	// +optional
	Reconciler string `json:"reconciler,omitempty"`

	// Identity tells which component this status was recorded for: the UID of its cluster's namespace kube-system, and
	// its own, with a slash in between. A backup that is restored has another UID; which cluster it is in is found out
	// then.
	// +optional
	Identity string `json:"identity,omitempty"`

	// TargetNamespace and TargetName are where, and as what, the dependents were applied.
	// +optional
	TargetNamespace string `json:"targetNamespace,omitempty"`
	// +optional
	TargetName string `json:"targetName,omitempty"`

	// TargetCluster identifies the cluster that the dependents were applied to, by the UID of its namespace
	// kube-system. It is empty where that is the component's own.
	// +optional
	TargetCluster string `json:"targetCluster,omitempty"`

	// TargetSecret is the Secret whose kubeconfig leads there. A finalizer holds it while there are dependents.
	// +optional
	TargetSecret string `json:"targetSecret,omitempty"`

	// State summarises the conditions in one word.
	// +optional
	State State `json:"state,omitempty"`

	// Conditions are Ready, Reconciling and Stalled, and GeneratorResults, NonDeterministic and Contested where there
	// is something to say.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Revision counts the changes of the inputs; it is 1 at the first apply.
	// +optional
	Revision int64 `json:"revision,omitempty"`

	// InputDigest identifies the inputs of Revision.
	// +optional
	InputDigest string `json:"inputDigest,omitempty"`

	// Rendition counts how often the inputs of Revision were rendered anew because something changed that the rendering
	// looks up.
	// +optional
	Rendition int64 `json:"rendition,omitempty"`

	// Lookups says what was looked up by the rendering that the dependents come from, an entry each, in the form of
	// Lookup. It is empty where that was more than a hundred objects and lists.
	// +optional
	// +listType=atomic
	Lookups []string `json:"lookups,omitempty"`

	// LookupsDigest identifies all that was looked up, and what the target serves.
	// +optional
	LookupsDigest string `json:"lookupsDigest,omitempty"`

	// RenderedSet identifies the record of the rendered set; empty where a second rendering gives the same.
	// +optional
	RenderedSet string `json:"renderedSet,omitempty"`

	// AppliedDigest identifies the inputs whose dependents were all applied last.
	// +optional
	AppliedDigest string `json:"appliedDigest,omitempty"`

	// History tells of the last revisions, and of inputs that did not render, the newest first. Ten at the most.
	// +optional
	// +listType=atomic
	History []RevisionRecord `json:"history,omitempty"`

	// LastHandledReconcileAt is the last request for a pass whose answer somebody waited for, and that was answered:
	// the value of the annotations reconcile-requested-at and reconcile-acknowledge. The rest of the status tells what
	// the pass came to.
	// +optional
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`

	// ProgressingSince is when the component began to work towards its current inputs; the timeout counts from here.
	// +optional
	ProgressingSince *metav1.Time `json:"progressingSince,omitempty"`

	// Dependents counts the dependents.
	// +optional
	Dependents DependentCounts `json:"dependents,omitempty,omitzero"`

	// Waiting names the first dependents that are not ready, failed, not gone, or contested, and why. Ten at the most.
	// +optional
	// +listType=atomic
	Waiting []DependentReport `json:"waiting,omitempty"`

	// ManagedTypes are the additional managed types as last applied, as Kind.group; each part may be a pattern.
	// +optional
	// +listType=atomic
	ManagedTypes []string `json:"managedTypes,omitempty"`

	// PhaseRecord identifies the record of the dependents that are applied when the component is deleted; empty where
	// there are none.
	// +optional
	PhaseRecord string `json:"phaseRecord,omitempty"`

	// Inventory records the dependents, an entry each, in the form of InventoryEntry. It is empty where InventoryRecord
	// names Secrets.
	// +optional
	// +listType=atomic
	Inventory []string `json:"inventory,omitempty"`

	// InventoryRecord names the Secrets that hold the inventory where it takes too much for the status. One without a
	// name says that there may be Secrets that do not count.
	// +optional
	InventoryRecord *InventoryRecord `json:"inventoryRecord,omitempty"`

	// InventoryDigest guards the inventory against loss and edits: where it does not match, the inventory is rebuilt
	// from the owner labels of the dependents.
	// +optional
	InventoryDigest string `json:"inventoryDigest,omitempty"`
}

// InventoryRecord names the Secrets that hold an inventory. Their names are Name-0, Name-1 and so on.
type InventoryRecord struct {
	// Namespace of the Secrets.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name is what their names begin with.
	// +optional
	Name string `json:"name,omitempty"`
	// Parts is how many there are.
	// +optional
	Parts int32 `json:"parts,omitempty"`
}

// HasInventoryRecord says that the inventory is in Secrets.
func (s *Status) HasInventoryRecord() bool {
	return s.InventoryRecord != nil && s.InventoryRecord.Name != ""
}

// DependentCounts counts dependents.
type DependentCounts struct {
	// Total is the number of dependents in the inventory.
	Total int32 `json:"total"`
	// Ready is the number of desired dependents that are applied and ready.
	Ready int32 `json:"ready"`
	// Summary is "ready/desired", for printer columns.
	Summary string `json:"summary,omitempty"`
}

// DependentReport says why a dependent holds the component up.
type DependentReport struct {
	// Dependent names the object: kind, group, namespace, name.
	Dependent string `json:"dependent"`
	// Wave is the apply order of the dependent, or its delete order where it is being deleted.
	Wave int32 `json:"wave"`
	// Reason is a CamelCase word, such as InProgress or Forbidden.
	Reason string `json:"reason"`
	// Message explains it to a person. It never holds data of a Secret.
	Message string `json:"message,omitempty"`
}
