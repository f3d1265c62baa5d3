package manifests

import (
	"time"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// The annotations that are settings, without the reconciler's prefix. The comments, and those of the policies in
// api/meta, become docs/reference/settings.md.
const (
	// AnnotationOrder is the number of the wave that applies the object, from -32768 to 32767; 0 by default. With
	// several numbers, separated by commas, the object is applied in each of these waves.
	AnnotationOrder = "order"
	// AnnotationApplyOrder is an alias of the order.
	AnnotationApplyOrder = "apply-order"
	// AnnotationPurgeOrder is the number of the wave at whose end the object is deleted, from -32768 to 32767. It must
	// not be lower than the order. Without this annotation the object is not purged. An object with several orders has
	// a purge order for each of them, which is lower than the next order.
	AnnotationPurgeOrder = "purge-order"
	// AnnotationPurgeFailed deletes the object when it has failed, also by its timeout: true, or false by default. The
	// object is still counted as failed until its reconcile policy applies it again, or, in a phase of the deletion, until
	// a pass is requested.
	AnnotationPurgeFailed = "purge-failed"
	// AnnotationDeleteOrder is the number of the wave of the deletion that deletes the object, from -32768 to 32767.
	// Deletion waves run in ascending order. By default it is the negative order.
	AnnotationDeleteOrder = "delete-order"
	// AnnotationReconcilePolicy selects when the object is applied.
	AnnotationReconcilePolicy = "reconcile-policy"
	// AnnotationUpdatePolicy selects how an existing object is updated.
	AnnotationUpdatePolicy = "update-policy"
	// AnnotationAdoptionPolicy selects how an object is handled that existed before the component applied it.
	AnnotationAdoptionPolicy = "adoption-policy"
	// AnnotationDeletePolicy selects whether the object is deleted or orphaned when it is no longer rendered, and when its
	// component is deleted.
	AnnotationDeletePolicy = "delete-policy"
	// AnnotationPrunePolicy selects when the object is deleted or orphaned after it is no longer rendered. It has no
	// effect in the phases of the deletion.
	AnnotationPrunePolicy = "prune-policy"
	// AnnotationIgnore lists fields that are left to others, such as spec.replicas or
	// spec.template.spec.containers[name=web].image, separated by commas. They have the values of the manifest when the
	// object is created, and are neither changed nor removed after that.
	AnnotationIgnore = "ignore"
	// AnnotationReapplyInterval is the time after which the object is applied again although it is in sync, such as
	// 30m; 0 means never. By default the interval of the reconciler applies, which is never unless it is configured.
	AnnotationReapplyInterval = "reapply-interval"
	// AnnotationTimeout is the time after which an object that is applied and not ready counts as failed, such as 5m. The
	// default is 0: never. An object that becomes ready later counts as ready, unless it was deleted because it failed.
	AnnotationTimeout = "timeout"
	// AnnotationStatusHint describes how readiness is read from a status that does not follow the API conventions:
	// has-observed-generation, has-ready-condition, conditions=A;B, or several of them, separated by commas.
	AnnotationStatusHint = "status-hint"
	// AnnotationPhase selects when the object is applied: apply, the default, applies it with the component; pre-delete
	// when the component is deleted, before any other dependent is deleted; post-delete after all other dependents are
	// deleted. Several phases are separated by commas.
	AnnotationPhase = "phase"
	// AnnotationPhaseOrder is the number of the wave in the phases of the deletion, from -32768 to 32767. The default
	// is the value of the annotation order. It is refused unless the annotation phase names a phase of the deletion.
	AnnotationPhaseOrder = "phase-order"
	// AnnotationIncludeWhen is an expression in CEL over parameters, component and exports. While it is false, the object
	// is not applied, and is deleted at once if it was applied before. An error, a parameter that is not set, or an export
	// without a value, is not false: the object stays as it is, and the component waits.
	AnnotationIncludeWhen = "include-when"
	// AnnotationActiveWhen is an expression in CEL over parameters, component, exports and the function
	// served("Kind.group"), which reports whether the API server serves a type. While it is false, the object is neither
	// applied nor deleted.
	AnnotationActiveWhen = "active-when"
	// AnnotationDependsOn lists what must be applied and ready before the object is applied: objects such as
	// StatefulSet.apps db or Job.batch shop/migrate, and groups such as @schema, separated by commas. Without a namespace
	// the namespace of the object applies. With a question mark at the end, an element counts only if it is rendered. The
	// object belongs to no wave, and is deleted before the objects of this list.
	AnnotationDependsOn = "depends-on"
	// AnnotationDependsOnGroup is the name of the group that the object belongs to. The annotation depends-on of other
	// objects names the group with an at sign.
	AnnotationDependsOnGroup = "depends-on-group"
	// AnnotationDependsOnTimeout is the time after which an object that still waits for the list in depends-on counts as
	// failed, such as 5m. The default is 0: never. It is applied nevertheless as soon as the list is ready. The annotation
	// is refused without depends-on.
	AnnotationDependsOnTimeout = "depends-on-timeout"
	// AnnotationReadyWhen is a condition that must hold for the object to be ready, besides the rules of its type and
	// its status hints: a CEL expression over self, the live object, such as self.status.phase == "Bound", or go/NAME,
	// a condition of the reconciler's author. An object whose condition cannot be evaluated is not ready.
	AnnotationReadyWhen = "ready-when"
	// AnnotationGoneWhen is a condition on an object that is being deleted: a CEL expression over self, the live object,
	// such as self.status.phase == "Released". While it is true, the objects that wait for the deletion of this object are
	// deleted, although this object still exists. An error is not true. An object that no longer exists needs no
	// condition.
	AnnotationGoneWhen = "gone-when"
	// AnnotationExport names values of the live object that other objects of the component use: NAME=EXPRESSION, with a
	// CEL expression over the object, self. Several are separated by commas or lines. An object may have 16 exports, and
	// their values together 4 KiB.
	AnnotationExport = "export"
	// AnnotationBind replaces the holes in the texts of the manifest by values that other objects export: true, or false
	// by default. A hole is a CEL expression over the names of exports: ${{ dbHost }}.
	AnnotationBind = "bind"
	// AnnotationExternalID is the id of an existing external that the object adopts or observes. Only the manifest of an
	// external may have it.
	AnnotationExternalID = "external-id"
)

// Settings are the parsed settings of a manifest. An empty policy selects the default of the component or reconciler.
type Settings struct {
	// Order is the number of the wave that applies the dependent.
	Order int
	// PurgeOrder is the number of the wave at whose end the dependent is deleted; nil means never.
	PurgeOrder *int
	// PurgeFailed is set if the dependent is deleted when it has failed.
	PurgeFailed bool
	// DeleteOrder is the number of the wave that deletes the dependent; nil means the negative Order.
	DeleteOrder *int

	ReconcilePolicy metav1alpha1.ReconcilePolicy
	UpdatePolicy    metav1alpha1.UpdatePolicy
	AdoptionPolicy  metav1alpha1.AdoptionPolicy
	DeletePolicy    metav1alpha1.DeletePolicy
	// ReapplyInterval is the time after which an unchanged dependent is applied again. Zero means never; nil selects
	// the default.
	ReapplyInterval *time.Duration
	// Timeout is the time after which the dependent counts as failed if it is not ready; zero means never.
	Timeout time.Duration
	// Phase is the phase in which the dependent is applied.
	Phase Phase
	// Conditions decide whether the dependent is applied; nil if the manifest has no conditions.
	Conditions *Conditions
	// Graph are the settings of dependencies between objects; nil if there are none.
	Graph *GraphSettings
	// Rare are all other settings; nil if the manifest has none of them. The methods of Settings read them.
	Rare *RareSettings
}
