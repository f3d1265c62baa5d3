package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Condition types of a component. They follow kstatus: Ready is True if the desired state is reached; Reconciling and
// Stalled are present, with status True, only while they apply.
const (
	// ConditionReady is True if every dependent of the observed generation is applied and ready. It is Unknown while the
	// component is suspended, and False otherwise.
	ConditionReady = "Ready"
	// ConditionReconciling is present, with status True, while the reconciler works towards the desired state and no
	// person has to act.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is present, with status True, while a person has to act. Its message names the necessary action.
	ConditionStalled = "Stalled"
	// ConditionGeneratorResults is present, with status True, if the generator returned warnings or notes with the last
	// rendering. It does not affect the other conditions.
	ConditionGeneratorResults = "GeneratorResults"
)

// ConditionNonDeterministic is present, with status True, while the dependents contain values that differ at each
// rendering of the same inputs, such as random passwords. The values of the first rendering are kept. The condition
// does not affect readiness.
const ConditionNonDeterministic = "NonDeterministic"

// ConditionRepairConflict is present, with status True, while another client repeatedly reverts the repairs of
// dependents. Its message names the dependents, their fields, the field manager that changes them, and the remedy. The
// component is not Ready while this condition is present.
const ConditionRepairConflict = "RepairConflict"

// ConditionInputStale is present, with status True, while an event source cannot tell its current value: the last value
// is used. Its message says for each source since when, and why. The condition does not affect readiness.
const ConditionInputStale = "InputStale"

// ConditionOverridden is present, with status True, while fields of dependents have other values than their last write
// sent, because admission or the API server changed the request. Its message names the dependents and the fields. The
// condition does not affect readiness, and such a field is not written again and again.
const ConditionOverridden = "Overridden"

// State is a one-word summary of the conditions, for printer columns. Clients must tolerate unknown values. The CRD
// does not restrict the values, because an older CRD must accept the status of a newer operator.
type State string

// The states that this version reports.
const (
	// StateReady: every dependent is applied and ready.
	StateReady State = "Ready"
	// StateProgressing: the reconciler works towards the desired state, and no person has to act.
	StateProgressing State = "Progressing"
	// StateStalled: a person has to act.
	StateStalled State = "Stalled"
	// StateSuspended: the component is suspended in its spec, and its dependents are not changed.
	StateSuspended State = "Suspended"
	// StateDeleting: dependents are being deleted.
	StateDeleting State = "Deleting"
	// StateDeletionBlocked: the deletion is blocked, and no dependent was deleted.
	StateDeletionBlocked State = "DeletionBlocked"
)

// Reasons of the conditions. Clients must tolerate unknown values.
const (
	// ReasonReady: every dependent is applied and ready.
	ReasonReady = "Ready"
	// ReasonObserving: the initial lists of watches on dependents are not complete yet.
	ReasonObserving = "Observing"
	// ReasonDependentsNotReady: some dependents are not ready yet, and later waves wait for them. The message names them.
	ReasonDependentsNotReady = "DependentsNotReady"
	// ReasonRenderingIncomplete: the rendering asked for exports that have no value now. The rendering may lack objects
	// until the exports have values, so nothing is pruned. The message names the exports.
	ReasonRenderingIncomplete = "RenderingIncomplete"
	// ReasonKindNotServed: the component waits only for dependents whose types the API server does not serve, and that
	// nothing in the component defines. It continues when the types are served.
	ReasonKindNotServed = "KindNotServed"
	// ReasonDependentsNotGone: some dependents were deleted but still exist, for example because of a finalizer.
	ReasonDependentsNotGone = "DependentsNotGone"
	// ReasonRetrying: a temporary error occurred, and the operation will be retried within seconds.
	ReasonRetrying = "Retrying"
	// ReasonRepairConflict: another client repeatedly reverts the repairs of some dependents. All other dependents are
	// applied and ready.
	ReasonRepairConflict = "RepairConflict"
	// ReasonChangedByAdmission: admission or the API server changed fields in the last write of some dependents.
	ReasonChangedByAdmission = "ChangedByAdmission"
	// ReasonDependentFailed: the API server rejected the write of a dependent, or a dependent reports failure in its
	// status.
	ReasonDependentFailed = "DependentFailed"
	// ReasonCreateUncertain: it is not known whether the creation of a dependent outside Kubernetes had an effect, or its
	// recorded state is damaged. A person has to find out whether it exists, and to tell the operator with fairlead
	// external resolve.
	ReasonCreateUncertain = "CreateUncertain"
	// ReasonOwnershipConflict: an object that should become a dependent has another owner.
	ReasonOwnershipConflict = "OwnershipConflict"
	// ReasonFetching: the source is being fetched.
	ReasonFetching = "Fetching"
	// ReasonFetchFailed: the source could not be fetched, or its digest is not the expected one.
	ReasonFetchFailed = "FetchFailed"
	// ReasonGenerateFailed: the generator returned an error.
	ReasonGenerateFailed = "GenerateFailed"
	// ReasonRenderingKilled: three renderings of the same inputs were killed, because they needed too much memory or time,
	// or because their process crashed. Nothing is rendered until the inputs change.
	ReasonRenderingKilled = "RenderingKilled"
	// ReasonQuotaExceeded: the component exceeds a quota that an administrator set for its namespace. Nothing is written
	// until the quota is raised or the component is smaller.
	ReasonQuotaExceeded = "QuotaExceeded"
	// ReasonNonDeterministic: two renderings of the same inputs have different objects, or lists of different length.
	ReasonNonDeterministic = "NonDeterministic"
	// ReasonValuesKept: two renderings of the same inputs have different values. The values of the first rendering are
	// kept.
	ReasonValuesKept = "ValuesKept"
	// ReasonInvalidManifests: the rendered manifests, or annotations with settings in them, are invalid, or the API server
	// would refuse them.
	ReasonInvalidManifests = "InvalidManifests"
	// ReasonInvalidSpec: the spec of the component is invalid.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonHookFailed: a hook of the operator returned a terminal error.
	ReasonHookFailed = "HookFailed"
	// ReasonInputFeedback: an input is a dependent of the component itself, and has changed with each of the last
	// renderings, or the inputs change too often. The next rendering is delayed, and only repairs are made until then.
	ReasonInputFeedback = "InputFeedback"
	// ReasonReferenceNotFound: a referenced Secret or ConfigMap does not exist.
	ReasonReferenceNotFound = "ReferenceNotFound"
	// ReasonExportMissing: nothing is rendered, because the component waits for a published export of another component.
	// The message names both. The timeout of the component does not run meanwhile.
	ReasonExportMissing = "ExportMissing"
	// ReasonReferenceCycle: the component reads an export that depends on its own exports. The message names the cycle.
	ReasonReferenceCycle = "ReferenceCycle"
	// ReasonDependencyNotReady: new inputs are not applied yet, because the component waits for components that it depends
	// on. The message names them. The timeout of the component does not run meanwhile.
	ReasonDependencyNotReady = "DependencyNotReady"
	// ReasonDependencyCycle: the component depends on a component that waits for it. The message names the cycle.
	ReasonDependencyCycle = "DependencyCycle"
	// ReasonForbidden: the component's identity, or the operator, lacks the permission that the message names.
	ReasonForbidden = "Forbidden"
	// ReasonTimeout: the component was not ready within its timeout.
	ReasonTimeout = "Timeout"
	// ReasonSuspended: the component is suspended in its spec.
	ReasonSuspended = "Suspended"
	// ReasonDeleting: dependents are being deleted.
	ReasonDeleting = "Deleting"
	// ReasonForeignInstances: the deletion is blocked by foreign instances: objects of types that the dependents define,
	// such as custom resources of users.
	ReasonForeignInstances = "ForeignInstances"
	// ReasonDependedOn: the deletion waits for the components that depend on the component. The message names them.
	ReasonDependedOn = "DependedOn"
	// ReasonDeletionRefused: the operator refuses to delete the component, for example because the operator itself is one
	// of its dependents. The message gives the reason.
	ReasonDeletionRefused = "DeletionRefused"
	// ReasonWarning: the generator returned at least one warning.
	ReasonWarning = "Warning"
	// ReasonInformation: the generator returned notes, and no warning.
	ReasonInformation = "Information"
	// ReasonNewerRecord: a newer version wrote the inventory, and this version cannot read it. The component and its
	// dependents are not changed until a version runs that can read the inventory.
	ReasonNewerRecord = "NewerRecord"
	// ReasonForeignFinalizers: the deletion waits until the finalizers of other controllers are removed from the
	// component.
	ReasonForeignFinalizers = "ForeignFinalizers"
)

// Status is the part of a component's status that the reconciler writes. Authors of operators embed it inline in the
// status of their own type. Only the reconciler may write it.
type Status struct {
	// ObservedGeneration is the generation of the component to which the conditions refer.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Reconciler is the name of the reconciler that writes this status. The name is also the prefix of the labels and
	// annotations of the dependents.
	// +optional
	Reconciler string `json:"reconciler,omitempty"`

	// Finalizers are the finalizers of the reconciler with other names than RECONCILER/finalizer: its finalizer, and those
	// that it had before. Other finalizers belong to other controllers.
	// +optional
	// +listType=set
	Finalizers []string `json:"finalizers,omitempty"`

	// Identity identifies the component for which this status was written. It is the UID of the namespace kube-system
	// and the UID of the component, separated by a slash. After a restore from a backup, the component has another UID
	// than the UID in Identity. The reconciler then checks whether the component is still in the same cluster.
	// +optional
	Identity string `json:"identity,omitempty"`

	// TargetNamespace and TargetName are the namespace and the name with which the dependents were rendered at the last
	// apply.
	// +optional
	TargetNamespace string `json:"targetNamespace,omitempty"`
	// +optional
	TargetName string `json:"targetName,omitempty"`

	// TargetCluster is the UID of the namespace kube-system in the cluster to which the dependents were applied. It is
	// empty if the dependents are in the cluster of the component.
	// +optional
	TargetCluster string `json:"targetCluster,omitempty"`

	// TargetSecret is the name of the Secret with the kubeconfig of the target cluster. A finalizer prevents the deletion
	// of the Secret while dependents exist.
	// +optional
	TargetSecret string `json:"targetSecret,omitempty"`

	// State summarises the conditions in one word.
	// +optional
	State State `json:"state,omitempty"`

	// Conditions always contain Ready. Reconciling, Stalled, GeneratorResults, NonDeterministic, RepairConflict,
	// Overridden and InputStale are present only while they apply.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Revision counts the changes of the inputs of the rendering. It is 1 at the first apply.
	// +optional
	Revision int64 `json:"revision,omitempty"`

	// InputDigest identifies the inputs of Revision.
	// +optional
	InputDigest string `json:"inputDigest,omitempty"`

	// Rendition is the number of times that the inputs of Revision were rendered again because a looked-up object changed.
	// +optional
	Rendition int64 `json:"rendition,omitempty"`

	// Lookups are the objects and lists that the current rendering looked up, in the text form of Lookup. The list is
	// empty if there are more than a hundred look-ups.
	// +optional
	// +listType=atomic
	Lookups []string `json:"lookups,omitempty"`

	// LookupsDigest identifies the content of all look-ups, and the API types that the target cluster serves.
	// +optional
	LookupsDigest string `json:"lookupsDigest,omitempty"`

	// AskedExports are the exports that the current rendering asked for, with the values that it got, in the text form of
	// AskedExport. The values are used while an export has no value, so that a value that vanishes changes no dependent.
	// +optional
	// +listType=atomic
	AskedExports []string `json:"askedExports,omitempty"`

	// RenderedSet identifies the recorded rendering if the rendering is not deterministic. It is empty for a deterministic
	// rendering.
	// +optional
	RenderedSet string `json:"renderedSet,omitempty"`

	// AppliedDigest identifies the last inputs whose dependents were all applied.
	// +optional
	AppliedDigest string `json:"appliedDigest,omitempty"`

	// AppliedGeneration is the last generation of the component whose dependents were all applied. It is smaller than
	// ObservedGeneration while the dependents of the observed generation are applied, or if they cannot be applied.
	// +optional
	AppliedGeneration int64 `json:"appliedGeneration,omitempty"`

	// History lists the last revisions, and inputs that could not be rendered, the newest first. It has at most ten
	// entries.
	// +optional
	// +listType=atomic
	History []RevisionRecord `json:"history,omitempty"`

	// LastHandledReconcileAt identifies the last requested pass that was acknowledged. Its value is the value of the
	// annotations reconcile-requested-at and reconcile-acknowledge. The rest of the status is the result of this pass.
	// +optional
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`

	// ProgressingSince is the time when the reconciler began to work towards the current inputs. The timeout starts at
	// this time. It is not set while the component waits for another component.
	// +optional
	ProgressingSince *metav1.Time `json:"progressingSince,omitempty"`

	// Dependents contains the number of dependents, and the number of ready dependents.
	// +optional
	Dependents DependentCounts `json:"dependents,omitempty,omitzero"`

	// Waiting lists dependents that are not ready yet, not deleted yet, or failed, or that have a repair conflict, each
	// with the reason. It also lists the components that this one depends on and waits for, and those that its deletion
	// waits for. It has at most ten entries.
	// +optional
	// +listType=atomic
	Waiting []DependentReport `json:"waiting,omitempty"`

	// LeftOut lists objects of the rendering that are not applied because their condition include-when or active-when is
	// false, each with the condition and the values that it read. It has at most ten entries, and never values of Secrets.
	// +optional
	// +listType=atomic
	LeftOut []DependentReport `json:"leftOut,omitempty"`

	// Blocked lists the managed types whose instances block a deletion or a prune, at most ten.
	// +optional
	// +listType=atomic
	Blocked []BlockReport `json:"blocked,omitempty"`

	// ManagedTypes are the additional managed types at the last apply, in the form Kind.group. Both parts may be patterns.
	// +optional
	// +listType=atomic
	ManagedTypes []string `json:"managedTypes,omitempty"`

	// PhaseRecord identifies the record of the dependents that are applied during the deletion of the component. It is
	// empty if there are no such dependents.
	// +optional
	PhaseRecord string `json:"phaseRecord,omitempty"`

	// Inventory lists the dependents, in the text form of InventoryEntry. It is empty if InventoryRecord names Secrets.
	// +optional
	// +listType=atomic
	Inventory []string `json:"inventory,omitempty"`

	// Observed lists the objects that the component only observes, in the text form of InventoryEntry. They are not part
	// of the inventory, so they are never changed or deleted.
	// +optional
	// +listType=atomic
	Observed []string `json:"observed,omitempty"`

	// Exports are the published values of dependents, by the names of the exports. A value that vanishes stays until the
	// dependent exports another value, or until the component does not publish the name any more. Values of Secrets are
	// never published.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Exports map[string]runtime.RawExtension `json:"exports,omitempty"`

	// InventoryRecord names the Secrets with the inventory, if the inventory is too large for the status. An
	// InventoryRecord without a name means that the inventory is in the status, and that outdated Secrets may still exist.
	// +optional
	InventoryRecord *InventoryRecord `json:"inventoryRecord,omitempty"`

	// InventoryDigest is the checksum of the inventory. If it does not match, because the inventory was lost or edited,
	// the inventory is rebuilt from the owner labels of the dependents.
	// +optional
	InventoryDigest string `json:"inventoryDigest,omitempty"`

	// InventoryWrites counts the writes of the record of the dependents: of the inventory, of the names of its Secrets and
	// of the other records in Secrets, of the managed types, and of the target. It never decreases, so a smaller number
	// shows that an older status was restored. It is zero if a version without this field wrote the record.
	// +optional
	InventoryWrites int64 `json:"inventoryWrites,omitempty"`

	// RecordDigest is the checksum of InventoryWrites and of the fields that it counts. If it does not match, or if
	// another client wrote it, the dependents are searched by their owner labels before anything else is done.
	// +optional
	RecordDigest string `json:"recordDigest,omitempty"`
}

// InventoryRecord names the Secrets that contain an inventory. Their names are Name-0, Name-1 and so on.
type InventoryRecord struct {
	// Namespace of the Secrets.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name is the common prefix of the names of the Secrets.
	// +optional
	Name string `json:"name,omitempty"`
	// Parts is the number of Secrets.
	// +optional
	Parts int32 `json:"parts,omitempty"`
}

// HasInventoryRecord reports whether the inventory is in Secrets.
func (s *Status) HasInventoryRecord() bool {
	return s.InventoryRecord != nil && s.InventoryRecord.Name != ""
}

// DependentCounts are the numbers of dependents of a component.
type DependentCounts struct {
	// Total is the number of dependents in the inventory.
	Total int32 `json:"total"`
	// Ready is the number of desired dependents that are applied and ready.
	Ready int32 `json:"ready"`
	// Summary contains the number of ready and of desired dependents, such as 3/5, for printer columns.
	Summary string `json:"summary,omitempty"`
}

// BlockReport is a managed type whose instances block a deletion or a prune.
type BlockReport struct {
	// Type is the managed type, such as Widget.example.com.
	Type string `json:"type"`
	// Count is the number of foreign instances. It is zero if the instances could not be listed.
	// +optional
	Count int32 `json:"count,omitempty"`
	// Names are the first ten foreign instances.
	// +optional
	// +listType=atomic
	Names []string `json:"names,omitempty"`
	// Message says why it is not known whether foreign instances exist, and what to do.
	// +optional
	Message string `json:"message,omitempty"`
}

// DependentReport is the reason why a component is waiting for a dependent, or for another component.
type DependentReport struct {
	// Dependent has kind, group, namespace and name of the object.
	Dependent string `json:"dependent"`
	// Wave is the apply order of the dependent, or its delete order if it is being deleted.
	Wave int32 `json:"wave"`
	// Reason is a CamelCase word, such as InProgress or Forbidden.
	Reason string `json:"reason"`
	// Message explains the reason. It never contains data of a Secret.
	Message string `json:"message,omitempty"`
}
