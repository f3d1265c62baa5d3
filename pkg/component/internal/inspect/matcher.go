package inspect

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/authorcode"
	"github.com/fairlead-io/fairlead/internal/fieldpath"
	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Match is what a Matcher compares. Component is nil for an Engine.
type Match struct {
	Component     metav1.Object
	Desired, Live *unstructured.Unstructured
	// Changed is set if the live object was written from another manifest.
	Changed bool
}

// Matcher compares a live object with its manifest.
type Matcher func(Match) plan.MatchResult

// For returns the view for a component, which its matchers see.
func (v View) For(component metav1.Object) View {
	v.Component = component
	return v
}

// Matched returns the kinds with a matcher.
func (v View) Matched() plan.Matched {
	matched := plan.Matched{}
	for gk := range v.Matchers {
		matched[gk] = true
	}
	return matched
}

// MatchResult returns the result of the matcher of an object's kind, or nil if there is no matcher. The matcher gets
// copies. Ignored fields have their live values in the copy of the manifest.
func (v View) MatchResult(obj *unstructured.Unstructured, manifest manifests.Object) (matched *plan.MatchResult) {
	match := v.Matchers[manifest.Key.GroupKind()]
	if match == nil {
		return nil
	}
	whole, err := manifest.Whole()
	if err != nil {
		return &plan.MatchResult{Failed: fmt.Sprintf("its manifest cannot be compared: %v", err)}
	}
	named := withLiveName(whole.Body.Object, obj, v.Reconciler)
	desired := fieldpath.Overlay(named, obj.Object, manifest.Settings.IgnoredPaths())
	p := authorcode.Run("its matcher", func() {
		matched = new(match(Match{
			Component: v.Component, Desired: (&unstructured.Unstructured{Object: desired}).DeepCopy(), Live: obj.DeepCopy(),
			Changed: obj.GetAnnotations()[v.Reconciler+"/"+marks.AnnotationDigest] != manifest.Digest,
		}))
	})
	if p != nil {
		matched = &plan.MatchResult{Failed: panicText(obj, p)}
	}
	return matched
}
