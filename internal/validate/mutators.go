package validate

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// admissionGroup is the group of the configurations of webhooks and of the admission policies.
const admissionGroup = "admissionregistration.k8s.io"

// Mutates returns the function that reports whether a webhook or an admission policy of a set may change the objects of
// a group. The API server calls it before it validates the values of an object, so it may add a required field. A
// webhook without rules may get them later.
func Mutates(objects []manifests.Object) func(group string) bool {
	read := sync.OnceValues(func() (rules []map[string]any, all bool) { return allMutatorRules(objects) })
	return func(group string) bool {
		rules, all := read()
		return all || slices.ContainsFunc(rules, func(rule map[string]any) bool {
			groups, _, _ := unstructured.NestedStringSlice(rule, "apiGroups")
			return slices.Contains(groups, "*") || slices.Contains(groups, group)
		})
	}
}

// allMutatorRules returns the rules of all webhook configurations and admission policies. all is set if one of them may
// have any rule.
func allMutatorRules(objects []manifests.Object) (rules []map[string]any, all bool) {
	for _, o := range objects {
		if !isMutator(o.Key) {
			continue
		}
		whole, err := o.Whole()
		if err != nil {
			return nil, true
		}
		found := mutatorRules(whole.Body)
		all = all || len(found) == 0
		rules = append(rules, found...)
	}
	return rules, all
}

func isMutator(key manifests.Key) bool {
	return key.Group == admissionGroup &&
		(key.Kind == "MutatingWebhookConfiguration" || key.Kind == "MutatingAdmissionPolicy")
}

// mutatorRules returns the rules of a webhook configuration or an admission policy. It returns none if a webhook has
// none.
func mutatorRules(body *unstructured.Unstructured) []map[string]any {
	if constraints, _, _ := unstructured.NestedMap(body.Object, "spec", "matchConstraints"); len(constraints) > 0 {
		return mapsOf(constraints["resourceRules"])
	}
	var rules []map[string]any
	for _, webhook := range mapsOf(body.Object["webhooks"]) {
		found := mapsOf(webhook["rules"])
		if len(found) == 0 {
			return nil
		}
		rules = append(rules, found...)
	}
	return rules
}

// mapsOf returns the maps in a list.
func mapsOf(list any) []map[string]any {
	items, _ := list.([]any)
	var found []map[string]any
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			found = append(found, m)
		}
	}
	return found
}
