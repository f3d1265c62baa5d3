package manifests

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// The annotations that are settings, without the reconciler's prefix. See docs/dependents.md for their values.
const (
	AnnotationOrder           = "order"
	AnnotationApplyOrder      = "apply-order"
	AnnotationPurgeOrder      = "purge-order"
	AnnotationDeleteOrder     = "delete-order"
	AnnotationReconcilePolicy = "reconcile-policy"
	AnnotationUpdatePolicy    = "update-policy"
	AnnotationAdoptionPolicy  = "adoption-policy"
	AnnotationDeletePolicy    = "delete-policy"
	AnnotationReapplyInterval = "reapply-interval"
	AnnotationStatusHint      = "status-hint"
	AnnotationPhase           = "phase"
)

// The names below, with the reconciler's prefix, are written by the reconciler; manifests must not carry them.
const (
	LabelOwnerID      = "owner-id"
	AnnotationOwnerID = "owner-id"
	AnnotationDigest  = "digest"
)

// Bounds of wave numbers.
const (
	MinOrder = -32768
	MaxOrder = 32767
)

// Settings are what the annotations of a manifest ask for. Empty policies mean the default of component or reconciler.
type Settings struct {
	// Order is the number of the wave that applies the dependent.
	Order int
	// DeleteOrder is the number of the wave that deletes it; nil means the reverse of Order.
	DeleteOrder *int

	ReconcilePolicy metav1alpha1.ReconcilePolicy
	UpdatePolicy    metav1alpha1.UpdatePolicy
	AdoptionPolicy  metav1alpha1.AdoptionPolicy
	DeletePolicy    metav1alpha1.DeletePolicy
}

// ParseSettings reads the settings among annotations: those whose key begins with prefix and a slash. Unknown names and values are
// errors; all errors are joined.
func ParseSettings(prefix string, annotations map[string]string) (Settings, error) {
	p := settingsParser{prefix: prefix, annotations: annotations}
	s := Settings{
		ReconcilePolicy: enum(&p, AnnotationReconcilePolicy, metav1alpha1.ReconcileOnObjectChange, metav1alpha1.ReconcileOnce),
		UpdatePolicy: enum(&p, AnnotationUpdatePolicy,
			metav1alpha1.UpdateDefault, metav1alpha1.UpdateReplace, metav1alpha1.UpdateRecreate,
			metav1alpha1.UpdateSSAMerge, metav1alpha1.UpdateSSAOverride),
		AdoptionPolicy: enum(&p, AnnotationAdoptionPolicy, metav1alpha1.AdoptIfUnowned, metav1alpha1.AdoptNever),
		DeleteOrder:    p.order(AnnotationDeleteOrder),
	}
	if s.UpdatePolicy == metav1alpha1.UpdateDefault {
		s.UpdatePolicy = ""
	}
	s.Order = p.applyOrder()
	s.DeletePolicy = enum(&p, AnnotationDeletePolicy, metav1alpha1.DeleteDelete)
	enum(&p, AnnotationPhase, "apply")
	for _, name := range []string{AnnotationPurgeOrder, AnnotationReapplyInterval, AnnotationStatusHint} {
		p.refuse(name, "is not supported by this version")
	}
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

func (p *settingsParser) refuse(name, why string) {
	if v, ok := p.value(name); ok {
		p.fail(name, "%q %s", v, why)
	}
}

func enum[E ~string](p *settingsParser, name string, values ...E) E {
	v, ok := p.value(name)
	if !ok {
		return ""
	}
	if !slices.Contains(values, E(v)) {
		p.fail(name, "%q is not one of the values that this version supports: %s", v, joinStrings(values))
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
