package manifests

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// The annotations that are settings, without the reconciler's prefix. The comments, and those of the policies in api/meta, become
// docs/reference/settings.md.
const (
	// AnnotationOrder is the number of the wave that applies the object, from -32768 to 32767; 0 by default.
	AnnotationOrder = "order"
	// AnnotationApplyOrder is another name of the order.
	AnnotationApplyOrder = "apply-order"
	// AnnotationPurgeOrder is the number of the wave at whose end the object is deleted again, in the same bounds, and not before its order;
	// without it the object stays.
	AnnotationPurgeOrder = "purge-order"
	// AnnotationDeleteOrder is the number of the wave of the deletion that deletes the object, in the same bounds. They ascend, too. By
	// default the order is reversed.
	AnnotationDeleteOrder = "delete-order"
	// AnnotationReconcilePolicy says when the object is applied.
	AnnotationReconcilePolicy = "reconcile-policy"
	// AnnotationUpdatePolicy says how an object that exists is updated.
	AnnotationUpdatePolicy = "update-policy"
	// AnnotationAdoptionPolicy says what becomes of an object that exists before it is applied.
	AnnotationAdoptionPolicy = "adoption-policy"
	// AnnotationDeletePolicy says what becomes of the object when it is no longer wanted.
	AnnotationDeletePolicy = "delete-policy"
	// AnnotationReapplyInterval is the time after which the object is applied again although it looks in sync, such as 30m; 0 for never. By
	// default it is the reconciler's, which is never.
	AnnotationReapplyInterval = "reapply-interval"
	// AnnotationStatusHint says how the status tells readiness where that cannot be seen: has-observed-generation, has-ready-condition,
	// conditions=A;B, or several of them with commas in between.
	AnnotationStatusHint = "status-hint"
	// AnnotationPhase says when the object is applied: apply is its ordinary life, and the default; pre-delete when the component is deleted,
	// before anything else is; post-delete after everything else is gone. Several have commas in between.
	AnnotationPhase = "phase"
	// AnnotationPhaseOrder is the number of the wave in the phases of the deletion, in the same bounds; the order by default.
	AnnotationPhaseOrder = "phase-order"
)

// The names below, with the reconciler's prefix, are written by the reconciler; manifests must not carry them.
const (
	// LabelOwnerID is a label that identifies the component by a hash.
	LabelOwnerID = "owner-id"
	// LabelGuardOf is a label of the admission policy that guards the deletion of definitions; it identifies the component.
	LabelGuardOf = "guard-of"
	// AnnotationOwnerID is an annotation that identifies the component in readable form: cluster, reconciler, group, kind, namespace, name.
	AnnotationOwnerID = "owner-id"
	// AnnotationDigest is an annotation that identifies the manifest: its content and, after a dot, its settings.
	AnnotationDigest = "digest"
)

// marks are all of them: by these a dependent is known.
var marks = []string{
	LabelOwnerID, AnnotationDigest, AnnotationOrder, AnnotationApplyOrder, AnnotationPurgeOrder, AnnotationDeleteOrder,
	AnnotationReconcilePolicy, AnnotationUpdatePolicy, AnnotationAdoptionPolicy, AnnotationDeletePolicy, AnnotationReapplyInterval,
	AnnotationStatusHint, AnnotationPhase, AnnotationPhaseOrder,
}

// IsMark says of the key of a label or an annotation that it makes the object a dependent of a reconciler, or tells how to treat it.
func IsMark(reconciler, key string) bool {
	name, ours := strings.CutPrefix(key, reconciler+"/")
	return ours && slices.Contains(marks, name)
}

// Bounds of wave numbers.
const (
	MinOrder = -32768
	MaxOrder = 32767
)

// Settings are what the annotations of a manifest ask for. Empty policies mean the default of component or reconciler.
type Settings struct {
	// Order is the number of the wave that applies the dependent.
	Order int
	// PurgeOrder is the number of the wave at whose end it is deleted again; nil means never.
	PurgeOrder *int
	// DeleteOrder is the number of the wave that deletes it; nil means the reverse of Order.
	DeleteOrder *int

	ReconcilePolicy metav1alpha1.ReconcilePolicy
	UpdatePolicy    metav1alpha1.UpdatePolicy
	AdoptionPolicy  metav1alpha1.AdoptionPolicy
	DeletePolicy    metav1alpha1.DeletePolicy
	// ReapplyInterval is the time after which it is applied again although it looks in sync; zero means never, nil the default.
	ReapplyInterval *time.Duration
	// Phase says when it is applied.
	Phase Phase
	// Hints say how to read its status.
	Hints StatusHints
}

// Phase says when a dependent is applied.
type Phase string

// The phases.
const (
	// PhaseApply is the ordinary life of a dependent.
	PhaseApply Phase = ""
	// PhasePreDelete applies it when the component is deleted, before anything else is.
	PhasePreDelete Phase = "pre-delete"
	// PhasePostDelete applies it when the component is deleted, after everything else is gone.
	PhasePostDelete Phase = "post-delete"
)

// ParseSettings reads the settings among annotations: those whose key begins with prefix and a slash. Unknown names and values are
// errors; all errors are joined.
func ParseSettings(prefix string, annotations map[string]string) (Settings, error) {
	p := settingsParser{prefix: prefix, annotations: annotations}
	s := Settings{
		ReconcilePolicy: enum(&p, AnnotationReconcilePolicy,
			metav1alpha1.ReconcileOnObjectChange, metav1alpha1.ReconcileOnObjectOrComponentChange, metav1alpha1.ReconcileOnce),
		UpdatePolicy: enum(&p, AnnotationUpdatePolicy,
			metav1alpha1.UpdateDefault, metav1alpha1.UpdateReplace, metav1alpha1.UpdateRecreate,
			metav1alpha1.UpdateSSAMerge, metav1alpha1.UpdateSSAOverride),
		AdoptionPolicy: enum(&p, AnnotationAdoptionPolicy,
			metav1alpha1.AdoptIfUnowned, metav1alpha1.AdoptNever, metav1alpha1.AdoptAlways),
		DeletePolicy: enum(&p, AnnotationDeletePolicy,
			metav1alpha1.DeleteDelete, metav1alpha1.DeleteOrphan, metav1alpha1.DeleteOrphanOnApply, metav1alpha1.DeleteOrphanOnDelete),
		PurgeOrder:      p.order(AnnotationPurgeOrder),
		DeleteOrder:     p.order(AnnotationDeleteOrder),
		ReapplyInterval: p.duration(AnnotationReapplyInterval),
		Hints:           p.hints(),
	}
	if s.UpdatePolicy == metav1alpha1.UpdateDefault {
		s.UpdatePolicy = ""
	}
	s.Order = p.applyOrder()
	if s.Phase = enum(&p, AnnotationPhase, "apply", PhasePreDelete, PhasePostDelete); s.Phase == "apply" {
		s.Phase = PhaseApply
	}
	if s.PurgeOrder != nil && *s.PurgeOrder < s.Order {
		p.fail(AnnotationPurgeOrder, "%d is before order %d: it would be purged before it is applied", *s.PurgeOrder, s.Order)
	}
	if p.order(AnnotationPhaseOrder) != nil {
		p.fail(AnnotationPhaseOrder, "is the order in a phase of the deletion, and %s names none; use %s", AnnotationPhase, AnnotationOrder)
	}
	p.checkPhase(s)
	p.refuseUnknown()
	return s, errors.Join(p.errs...)
}

// settingsParser collects the errors of one manifest.
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
		p.fail(name, "%q is no duration such as 30m, nor 0, which turns it off", v)
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
		p.fail(name, "%q is not one of the values it can have: %s", v, joinStrings(values))
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

func (p *settingsParser) order(name string) *int {
	v, ok := p.value(name)
	if !ok {
		return nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < MinOrder || n > MaxOrder {
		p.fail(name, "%q is not a whole number from %d to %d", v, MinOrder, MaxOrder)
		return nil
	}
	return &n
}

func (p *settingsParser) applyOrder() int {
	order, alias := p.order(AnnotationOrder), p.order(AnnotationApplyOrder)
	switch {
	case order != nil && alias != nil && *order != *alias:
		p.fail(AnnotationOrder, "is %d, but its alias %s is %d; remove one of them", *order, AnnotationApplyOrder, *alias)
		return *order
	case order != nil:
		return *order
	case alias != nil:
		return *alias
	}
	return 0
}

// refuseUnknown reports every annotation under the prefix that no call of value asked for.
func (p *settingsParser) refuseUnknown() {
	var unknown []string
	for key := range p.annotations {
		name, ok := strings.CutPrefix(key, p.prefix+"/")
		if ok && !slices.Contains(p.known, name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		switch name {
		case AnnotationOwnerID, AnnotationDigest:
			p.fail(name, "is written by the reconciler; remove it from the manifest")
		default:
			p.fail(name, "is no setting; settings are %s", strings.Join(p.known, ", "))
		}
	}
}
