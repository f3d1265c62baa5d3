package rbac

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// dependentVerbs are the verbs of a reconciler on dependents, which it deletes one by one.
var dependentVerbs = []string{"get", "list", "watch", "create", "update", "patch", "delete"}

// Rule is a rule with its reason.
type Rule struct {
	// Comment is the reason for the rule.
	Comment string
	rbacv1.PolicyRule
}

// Features are the optional interfaces of a component that need rules of their own.
type Features struct {
	KubeConfig, ServiceAccount, Placement bool
}

// RulesFor returns the rules that an operator needs for rendered objects, and for kinds that other values may render.
func RulesFor(f Features, objects []*unstructured.Unstructured, kinds []schema.GroupVersionKind) []Rule {
	for _, object := range objects {
		kinds = append(kinds, object.GroupVersionKind())
	}
	rules := rulesOnKinds(kinds)
	rules = append(rules, rulesOnDefinitions(objects)...)
	rules = append(rules, rulesToGrant(objects)...)
	return append(rules, rulesOfFeatures(f, hasDeletionHooks(objects), kinds)...)
}

// rulesOnKinds returns a rule for each API group.
func rulesOnKinds(kinds []schema.GroupVersionKind) []Rule {
	resources := map[string][]string{}
	for _, kind := range kinds {
		resource, _ := meta.UnsafeGuessKindToResource(kind)
		resources[kind.Group] = append(resources[kind.Group], resource.Resource)
	}
	var rules []Rule
	for _, group := range slices.Sorted(maps.Keys(resources)) {
		slices.Sort(resources[group])
		rules = append(rules, Rule{PolicyRule: rbacv1.PolicyRule{
			APIGroups: []string{group}, Resources: slices.Compact(resources[group]), Verbs: dependentVerbs,
		}})
	}
	return rules
}

// rulesOnDefinitions returns the rules for deleting definitions without deleting instances of others.
func rulesOnDefinitions(objects []*unstructured.Unstructured) []Rule {
	var rules []Rule
	for _, object := range objects {
		if object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		group, _, _ := unstructured.NestedString(object.Object, "spec", "group")
		plural, _, _ := unstructured.NestedString(object.Object, "spec", "names", "plural")
		rules = append(rules, Rule{
			Comment: "Instances of " + plural + "." + group + ": while others have any, the definition is not deleted.",
			PolicyRule: rbacv1.PolicyRule{
				APIGroups: []string{group}, Resources: []string{plural},
				Verbs: []string{"get", "list", "watch"},
			},
		})
	}
	if len(rules) == 0 {
		return nil
	}
	return append(rules, Rule{
		Comment: "Definitions are deleted under a guard, an admission policy that refuses new instances.",
		PolicyRule: rbacv1.PolicyRule{
			APIGroups: []string{"admissionregistration.k8s.io"},
			Resources: []string{"validatingadmissionpolicies", "validatingadmissionpolicybindings"},
			Verbs:     []string{"create", "patch", "delete"},
		},
	})
}

// rulesToGrant returns the rules that dependents grant to others: nobody may grant rights that they do not have.
func rulesToGrant(objects []*unstructured.Unstructured) []Rule {
	var rules []Rule
	defined := map[string]bool{}
	for _, object := range objects {
		if kind := object.GetKind(); kind == "Role" || kind == "ClusterRole" {
			defined[kind+"/"+object.GetName()] = true
			rules = append(rules, grantedBy(object)...)
		}
	}
	for _, object := range objects {
		kind, _, _ := unstructured.NestedString(object.Object, "roleRef", "kind")
		name, _, _ := unstructured.NestedString(object.Object, "roleRef", "name")
		if name == "" || defined[kind+"/"+name] {
			continue
		}
		resource := strings.ToLower(kind) + "s"
		rules = append(rules, Rule{
			Comment: "To bind " + kind + " " + name + ", which is no dependent.",
			PolicyRule: rbacv1.PolicyRule{
				APIGroups: []string{rbacv1.GroupName}, Resources: []string{resource},
				ResourceNames: []string{name}, Verbs: []string{"bind"},
			},
		})
	}
	return rules
}

func grantedBy(role *unstructured.Unstructured) []Rule {
	var content struct {
		Rules []rbacv1.PolicyRule `json:"rules"`
	}
	// The API server refuses a malformed role with a message.
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"rules": role.Object["rules"]},
		&content); err != nil {
		return nil
	}
	rules := make([]Rule, 0, len(content.Rules))
	for _, rule := range content.Rules {
		rules = append(rules, Rule{Comment: "What " + role.GetKind() + " " + role.GetName() + " grants.", PolicyRule: rule})
	}
	return rules
}

// hasDeletionHooks reports whether there are hooks of the deletion, which the operator records in a Secret.
func hasDeletionHooks(objects []*unstructured.Unstructured) bool {
	return slices.ContainsFunc(objects, func(object *unstructured.Unstructured) bool {
		return strings.Contains(object.GetAnnotations()["helm.sh/hook"], "-delete")
	})
}

// rulesOfFeatures returns the rules for fields of the spec. If Secrets are dependents, the operator has all rights on
// them already.
func rulesOfFeatures(f Features, recordsPhases bool, kinds []schema.GroupVersionKind) []Rule {
	var rules []Rule
	add := func(why, resource string, verbs ...string) {
		rules = append(rules, Rule{Comment: why, PolicyRule: rbacv1.PolicyRule{
			APIGroups: []string{""},
			Resources: []string{resource}, Verbs: verbs,
		}})
	}
	hasSecrets := slices.ContainsFunc(kinds, func(kind schema.GroupVersionKind) bool {
		return kind.Group == "" &&
			kind.Kind == "Secret"
	})
	if recordsPhases && !hasSecrets {
		add("What is applied when a component is deleted is recorded before.", "secrets", dependentVerbs...)
	}
	if f.KubeConfig && !hasSecrets {
		add("Kubeconfigs that components name. A finalizer holds them while there are dependents.", "secrets", "get", "list",
			"watch", "patch")
	}
	if f.ServiceAccount {
		add("Components that name a service account: the operator acts as it.", "serviceaccounts", "impersonate")
	}
	if f.Placement {
		add("Namespaces that components are placed in, where they do not exist.", "namespaces", "get", "create")
	}
	return rules
}

// Format returns rules as YAML, without those that others cover.
func Format(rules []Rule) (string, error) {
	var out strings.Builder
	for i, r := range rules {
		if isCovered(rules, i) {
			continue
		}
		text, err := yaml.Marshal([]rbacv1.PolicyRule{r.PolicyRule})
		if err != nil {
			return "", err
		}
		if r.Comment != "" {
			out.WriteString("# " + r.Comment + "\n")
		}
		out.Write(text)
	}
	return cmp.Or(out.String(), "[]\n"), nil
}

// isCovered reports whether another rule covers a rule. Of equal rules, the first is kept.
func isCovered(rules []Rule, i int) bool {
	for j := range rules {
		if j != i && covers(rules[j].PolicyRule, rules[i].PolicyRule) &&
			(j < i || !covers(rules[i].PolicyRule, rules[j].PolicyRule)) {
			return true
		}
	}
	return false
}

// covers reports whether rule a grants everything that rule b grants.
func covers(a, b rbacv1.PolicyRule) bool {
	named := len(a.ResourceNames) == 0 || len(b.ResourceNames) > 0 && holds(a.ResourceNames, b.ResourceNames)
	return named && holds(a.APIGroups, b.APIGroups) && holds(a.Resources, b.Resources) &&
		holds(a.NonResourceURLs, b.NonResourceURLs) && holds(a.Verbs, b.Verbs)
}

func holds(all, some []string) bool {
	return slices.Contains(all, rbacv1.ResourceAll) ||
		!slices.ContainsFunc(some, func(one string) bool { return !slices.Contains(all, one) })
}
