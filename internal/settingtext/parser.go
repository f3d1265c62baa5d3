package settingtext

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Parse parses the settings among annotations, whose keys begin with prefix and a slash. Unknown names and
// values are errors. The returned error joins all errors.
func Parse(prefix string, annotations map[string]string) (manifests.Settings, error) {
	p := settingsParser{prefix: prefix, annotations: annotations}
	s := manifests.Settings{
		ReconcilePolicy: enum(
			&p,
			manifests.AnnotationReconcilePolicy,
			metav1alpha1.ReconcileOnObjectChange,
			metav1alpha1.ReconcileOnObjectOrComponentChange,
			metav1alpha1.ReconcileOnce,
			metav1alpha1.ReconcileCreateOnly,
			metav1alpha1.ReconcileUpdateOnly,
			metav1alpha1.ReconcileAlways,
			metav1alpha1.ReconcileObserve,
		),
		UpdatePolicy: enum(&p, manifests.AnnotationUpdatePolicy,
			metav1alpha1.UpdateDefault, metav1alpha1.UpdateReplace, metav1alpha1.UpdateRecreate,
			metav1alpha1.UpdateSSAMerge, metav1alpha1.UpdateSSAOverride),
		AdoptionPolicy: enum(&p, manifests.AnnotationAdoptionPolicy,
			metav1alpha1.AdoptIfUnowned, metav1alpha1.AdoptNever, metav1alpha1.AdoptAlways),
		DeletePolicy: enum(
			&p,
			manifests.AnnotationDeletePolicy,
			metav1alpha1.DeleteDelete,
			metav1alpha1.DeleteOrphan,
			metav1alpha1.DeleteOrphanOnApply,
			metav1alpha1.DeleteOrphanOnDelete,
		),
		PurgeOrder:      p.order(manifests.AnnotationPurgeOrder),
		DeleteOrder:     p.order(manifests.AnnotationDeleteOrder),
		ReapplyInterval: p.duration(manifests.AnnotationReapplyInterval),
		Conditions:      p.conditions(),
	}
	if s.UpdatePolicy == metav1alpha1.UpdateDefault {
		s.UpdatePolicy = ""
	}
	s.PurgeFailed = enum(&p, manifests.AnnotationPurgeFailed, "false", "true") == "true"
	if timeout := p.duration(manifests.AnnotationTimeout); timeout != nil {
		s.Timeout = *timeout
	}
	s.Order = p.applyOrder()
	s.Phase = enum(&p, manifests.AnnotationPhase, "apply", manifests.PhasePreDelete, manifests.PhasePostDelete)
	if s.Phase == "apply" {
		s.Phase = manifests.PhaseApply
	}
	p.checkCombinations(s)
	s.Graph = p.graph()
	s = s.WithRare(manifests.RareSettings{
		PrunePolicy: enum(&p, manifests.AnnotationPrunePolicy, metav1alpha1.PruneWhenReady, metav1alpha1.PruneAtOnce),
		Ignore:      p.ignored(),
		Hints:       p.hints(),
		ReadyWhen:   p.readyWhen(),
		Exports:     p.exports(),
		Bind:        enum(&p, manifests.AnnotationBind, "false", "true") == "true",
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

// checkCombinations refuses settings that contradict each other, and a setting that has no effect without another one.
func (p *settingsParser) checkCombinations(s manifests.Settings) {
	if s.PurgeOrder != nil && *s.PurgeOrder < s.Order {
		p.fail(
			manifests.AnnotationPurgeOrder,
			"%d is before order %d: it would be purged before it is applied",
			*s.PurgeOrder,
			s.Order,
		)
	}
	if p.order(manifests.AnnotationPhaseOrder) != nil {
		p.fail(
			manifests.AnnotationPhaseOrder,
			"has no effect, because %s names no phase of the deletion; use %s",
			manifests.AnnotationPhase,
			manifests.AnnotationOrder,
		)
	}
	if s.ReconcilePolicy == metav1alpha1.ReconcileUpdateOnly && s.UpdatePolicy == metav1alpha1.UpdateRecreate {
		p.fail(manifests.AnnotationReconcilePolicy, "update-only does not create the object, so %s %s cannot be used with it; "+
			"remove one of them", manifests.AnnotationUpdatePolicy, s.UpdatePolicy)
	}
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

func (p *settingsParser) hints() manifests.StatusHints {
	v, ok := p.value(manifests.AnnotationStatusHint)
	if !ok {
		return manifests.StatusHints{}
	}
	hints, err := ParseStatusHints(v)
	if err != nil {
		p.fail(manifests.AnnotationStatusHint, "%w", err)
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
		case manifests.AnnotationOwnerID, marks.AnnotationDigest, marks.AnnotationObject,
			marks.AnnotationIgnoredByOption, marks.AnnotationIgnoredBySpec, marks.AnnotationReleasedBy:
			p.fail(name, "is written by the reconciler; remove it from the manifest")
		default:
			p.fail(name, "is not a setting; settings are %s", strings.Join(p.known, ", "))
		}
	}
}
