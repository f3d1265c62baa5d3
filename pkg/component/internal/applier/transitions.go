package applier

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/internal/validate"
	"github.com/fairlead-io/fairlead/internal/validate/values"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// transition returns the suspect of a write without faults whose type has rules that compare an object with its
// previous version, none for other writes. Only the API server has the previous version, so the dry run of the write
// decides. The caller must have checked the write before, so that the schema of its kind is the current one of
// v.values.
//
// The definition that the API server has judges the dry run. If another one is applied with the object, only those
// rules count that both have. No rule counts that may read the status, because earlier objects of the set can change
// it, for example a Job that pauses what the object configures. An object that is created again has no previous
// version, and the values of one that waits for its holes are not known. An update with ignored fields or with the
// applied content changes no field that a dry run of the manifest could tell.
func (v *validation) transition(a plan.Action) []suspect {
	gvk := a.Object.GroupVersionKind()
	if v.values.end == nil || v.values.gvk != gvk || v.waits(a) || a.Object.Scope == manifests.ScopeUnknown {
		return nil
	}
	rules, ofSet := slices.Clone(v.values.values.Transitions()), v.defined[gvk.GroupKind()] != nil
	switch {
	case a.Verb == plan.VerbCreate:
		rules = slices.DeleteFunc(rules, func(t values.Transition) bool { return !t.Creates })
	case a.Verb == plan.VerbDelete, len(a.Object.Settings.Ignored()) > 0,
		digests.SameContent(v.inventory[a.Key].Digest, a.Object.Digest):
		return nil
	}
	all := len(rules)
	rules = slices.DeleteFunc(rules, func(t values.Transition) bool { return t.ReadsStatus })
	if len(rules) == 0 {
		return nil
	}
	fault := validate.Fault{Message: "a rule of its type compares it with the live object"}
	s := suspect{action: a, change: true, faults: []validate.Fault{fault}}
	if ofSet || len(rules) < all {
		s.rules = rules
	}
	return []suspect{s}
}

// refuses reports whether a cause is one of the rules.
func refuses(rules []values.Transition, causes []metav1.StatusCause) bool {
	return slices.ContainsFunc(causes, func(cause metav1.StatusCause) bool {
		return slices.ContainsFunc(rules, func(rule values.Transition) bool { return rule.Refuses(cause) })
	})
}
