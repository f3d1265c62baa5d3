package manifests

import (
	"errors"
	"fmt"
	"slices"
	"strings"
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
	// AnnotationDeletePolicy selects whether the object is deleted or orphaned when it is no longer rendered.
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
	// is the value of the annotation order.
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
	// failed, such as 5m. The default is 0: never. It is applied nevertheless as soon as the list is ready.
	AnnotationDependsOnTimeout = "depends-on-timeout"
	// AnnotationReadyWhen is a condition that must hold for the object to be ready, besides the rules of its type and
	// its status hints: a CEL expression over self, the live object, such as self.status.phase == "Bound", or go/NAME,
	// a condition of the reconciler's author. An object whose condition cannot be evaluated is not ready.
	AnnotationReadyWhen = "ready-when"
	// AnnotationGoneWhen is a condition on an object that is being deleted: a CEL expression over self, the live object,
	// such as self.status.phase == "Released". While it is true, the objects that wait for the deletion of this object are
	// deleted, although this object still exists. An error is not true. An object that is gone needs no condition.
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

// The reconciler writes the names below, with its prefix. Manifests must not contain them.
const (
	// LabelOwnerID is a label that identifies the component by a hash.
	LabelOwnerID = "owner-id"
	// LabelHeld is a label of all Secrets that have a finalizer of the reconciler: its records, and the Secrets with
	// kubeconfigs and credentials that its components use.
	LabelHeld = "held"
	// LabelGuardOf is a label of the admission policy that guards the deletion of definitions; it identifies the
	// component.
	LabelGuardOf = "guard-of"
	// AnnotationGuardOf is an annotation of the same policy that identifies the component in readable form.
	AnnotationGuardOf = "guard-of"
	// AnnotationGuardNote is an annotation of the same policy that says when it can be removed, and how.
	AnnotationGuardNote = "guard-note"
	// AnnotationOwnerID is an annotation that identifies the component in readable form: cluster, reconciler, group,
	// kind, namespace, name.
	AnnotationOwnerID = "owner-id"
	// AnnotationDigest is an annotation that identifies the manifest: its content and, after a dot, its settings.
	AnnotationDigest = "digest"
	// AnnotationObject is an annotation that names the object itself: its kind with the group, its namespace and its name,
	// such as Deployment.apps shop/web. So a copy that another client makes of a dependent can be told from a dependent.
	AnnotationObject = "object"
	// AnnotationIgnoredByOption is an annotation that lists the fields that an option of the reconciler ignores.
	AnnotationIgnoredByOption = "ignored-by-option"
	// AnnotationIgnoredBySpec is an annotation that lists the fields that the spec of the component ignores.
	AnnotationIgnoredBySpec = "ignored-by-spec"
	// AnnotationReleasedBy is an annotation of an object that a component has released. It identifies the component in
	// readable form, so that this component adopts the object without a permission when it renders the object again.
	AnnotationReleasedBy = "released-by"
)

// settingNames are the names of the annotations that are settings.
var settingNames = []string{
	AnnotationOrder,
	AnnotationApplyOrder,
	AnnotationPurgeOrder,
	AnnotationPurgeFailed,
	AnnotationDeleteOrder,
	AnnotationReconcilePolicy,
	AnnotationUpdatePolicy,
	AnnotationAdoptionPolicy,
	AnnotationDeletePolicy,
	AnnotationPrunePolicy,
	AnnotationIgnore,
	AnnotationReapplyInterval,
	AnnotationTimeout,
	AnnotationStatusHint,
	AnnotationPhase,
	AnnotationPhaseOrder,
	AnnotationIncludeWhen,
	AnnotationActiveWhen,
	AnnotationDependsOn,
	AnnotationDependsOnGroup,
	AnnotationDependsOnTimeout,
	AnnotationReadyWhen,
	AnnotationGoneWhen,
	AnnotationExport,
	AnnotationBind,
	AnnotationExternalID,
}

// SettingAnnotations returns the names of the annotations that are settings, without the reconciler's prefix.
func SettingAnnotations() []string { return slices.Clone(settingNames) }

// marks are the names of all labels and annotations that identify a dependent or configure how it is applied.
var marks = slices.Concat(settingNames, []string{
	LabelOwnerID,
	AnnotationDigest,
	AnnotationObject,
	AnnotationIgnoredByOption,
	AnnotationIgnoredBySpec,
	AnnotationReleasedBy,
})

// IsMark reports whether the key of a label or an annotation is one of the names that the reconciler writes.
func IsMark(reconciler, key string) bool {
	name, ours := strings.CutPrefix(key, reconciler+"/")
	return ours && slices.Contains(marks, name)
}

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

// ParseSettings parses the settings among annotations, whose keys begin with prefix and a slash. Unknown names and
// values are errors. The returned error joins all errors.
func ParseSettings(prefix string, annotations map[string]string) (Settings, error) {
	p := settingsParser{prefix: prefix, annotations: annotations}
	s := Settings{
		ReconcilePolicy: enum(
			&p,
			AnnotationReconcilePolicy,
			metav1alpha1.ReconcileOnObjectChange,
			metav1alpha1.ReconcileOnObjectOrComponentChange,
			metav1alpha1.ReconcileOnce,
			metav1alpha1.ReconcileCreateOnly,
			metav1alpha1.ReconcileUpdateOnly,
			metav1alpha1.ReconcileAlways,
			metav1alpha1.ReconcileObserve,
		),
		UpdatePolicy: enum(&p, AnnotationUpdatePolicy,
			metav1alpha1.UpdateDefault, metav1alpha1.UpdateReplace, metav1alpha1.UpdateRecreate,
			metav1alpha1.UpdateSSAMerge, metav1alpha1.UpdateSSAOverride),
		AdoptionPolicy: enum(&p, AnnotationAdoptionPolicy,
			metav1alpha1.AdoptIfUnowned, metav1alpha1.AdoptNever, metav1alpha1.AdoptAlways),
		DeletePolicy: enum(
			&p,
			AnnotationDeletePolicy,
			metav1alpha1.DeleteDelete,
			metav1alpha1.DeleteOrphan,
			metav1alpha1.DeleteOrphanOnApply,
			metav1alpha1.DeleteOrphanOnDelete,
		),
		PurgeOrder:      p.order(AnnotationPurgeOrder),
		DeleteOrder:     p.order(AnnotationDeleteOrder),
		ReapplyInterval: p.duration(AnnotationReapplyInterval),
		Conditions:      p.conditions(),
	}
	if s.UpdatePolicy == metav1alpha1.UpdateDefault {
		s.UpdatePolicy = ""
	}
	s.PurgeFailed = enum(&p, AnnotationPurgeFailed, "false", "true") == "true"
	if timeout := p.duration(AnnotationTimeout); timeout != nil {
		s.Timeout = *timeout
	}
	s.Order = p.applyOrder()
	if s.Phase = enum(&p, AnnotationPhase, "apply", PhasePreDelete, PhasePostDelete); s.Phase == "apply" {
		s.Phase = PhaseApply
	}
	if s.PurgeOrder != nil && *s.PurgeOrder < s.Order {
		p.fail(
			AnnotationPurgeOrder,
			"%d is before order %d: it would be purged before it is applied",
			*s.PurgeOrder,
			s.Order,
		)
	}
	if p.order(AnnotationPhaseOrder) != nil {
		p.fail(
			AnnotationPhaseOrder,
			"has no effect, because %s names no phase of the deletion; use %s",
			AnnotationPhase,
			AnnotationOrder,
		)
	}
	if s.ReconcilePolicy == metav1alpha1.ReconcileUpdateOnly && s.UpdatePolicy == metav1alpha1.UpdateRecreate {
		p.fail(AnnotationReconcilePolicy, "update-only does not create the object, so %s %s cannot be used with it; "+
			"remove one of them", AnnotationUpdatePolicy, s.UpdatePolicy)
	}
	s.Graph = p.graph()
	s.setRare(RareSettings{
		PrunePolicy: enum(&p, AnnotationPrunePolicy, metav1alpha1.PruneWhenReady, metav1alpha1.PruneAtOnce),
		Ignore:      p.ignored(),
		Hints:       p.hints(),
		ReadyWhen:   p.readyWhen(),
		Exports:     p.exports(),
		Bind:        enum(&p, AnnotationBind, "false", "true") == "true",
		ExternalID:  p.externalID(),
	})
	p.goneWhen()
	p.checkPhase(s)
	p.checkObserved(s)
	p.checkFlow(s)
	p.refuseUnknown()
	return s, errors.Join(p.errs...)
}

// settingsParser parses the settings of a manifest, and collects the errors.
type settingsParser struct {
	prefix      string
	annotations map[string]string
	known       []string
	errs        []error
}

func (p *settingsParser) value(name string) (string, bool) {
	p.known = append(p.known, name)
	v, ok := p.annotations[p.prefix+"/"+name]
	return v, ok
}

func (p *settingsParser) fail(name, format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf("annotation %s/%s: "+format, append([]any{p.prefix, name}, args...)...))
}

func (p *settingsParser) duration(name string) *time.Duration {
	v, ok := p.value(name)
	if !ok {
		return nil
	}
	d, err := time.ParseDuration(v)
	if err != nil || d < 0 {
		p.fail(name, "%q is neither a duration such as 30m nor 0, which disables it", v)
		return nil
	}
	return &d
}

func (p *settingsParser) hints() StatusHints {
	v, ok := p.value(AnnotationStatusHint)
	if !ok {
		return StatusHints{}
	}
	hints, err := ParseStatusHints(v)
	if err != nil {
		p.fail(AnnotationStatusHint, "%w", err)
	}
	return hints
}

func enum[E ~string](p *settingsParser, name string, values ...E) E {
	v, ok := p.value(name)
	if !ok {
		return ""
	}
	if !slices.Contains(values, E(v)) {
		p.fail(name, "%q is not an allowed value: %s", v, joinStrings(values))
	}
	return E(v)
}

func joinStrings[E ~string](values []E) string {
	texts := make([]string, 0, len(values))
	for _, v := range values {
		texts = append(texts, string(v))
	}
	return strings.Join(texts, ", ")
}

// maxUnknown is the maximum number of annotations that refuseUnknown names.
const maxUnknown = 20

// refuseUnknown adds an error for each annotation under the prefix that is no setting.
func (p *settingsParser) refuseUnknown() {
	var unknown []string
	for key := range p.annotations {
		name, ok := strings.CutPrefix(key, p.prefix+"/")
		if ok && !slices.Contains(p.known, name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	if more := len(unknown) - maxUnknown; more > 0 {
		unknown = unknown[:maxUnknown]
		p.errs = append(p.errs, fmt.Errorf("more annotations %s/... are no settings (%d)", p.prefix, more))
	}
	for _, name := range unknown {
		switch name {
		case AnnotationOwnerID, AnnotationDigest, AnnotationObject, AnnotationIgnoredByOption, AnnotationIgnoredBySpec,
			AnnotationReleasedBy:
			p.fail(name, "is written by the reconciler; remove it from the manifest")
		default:
			p.fail(name, "is not a setting; settings are %s", strings.Join(p.known, ", "))
		}
	}
}
