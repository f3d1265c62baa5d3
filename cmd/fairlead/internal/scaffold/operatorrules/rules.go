package operatorrules

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

// dependentVerbs are the verbs that a reconciler needs for dependents. Deletecollection is not necessary, because it
// deletes each dependent by its name.
var dependentVerbs = []string{"get", "list", "watch", "create", "update", "patch", "delete"}

// externalGroup is the API group of the manifests of dependents outside Kubernetes.
const externalGroup = "external.fairlead.io"

// Rule is a rule with its reason.
type Rule struct {
	// Comment is the reason for the rule.
	Comment string
	rbacv1.PolicyRule
}

// Features are the optional interfaces of a component that need additional rules.
type Features struct {
	KubeConfig, ServiceAccount, Placement bool
	// Externals is set if the operator handles dependents outside Kubernetes.
	Externals bool
	// Watched are kinds of objects that are no dependents and that the operator watches.
	Watched []schema.GroupVersionKind
}

// RulesFor returns the rules that an operator needs for rendered objects, and for kinds that are rendered with other
// values.
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
		if kind.Group == externalGroup {
			continue // It is not in Kubernetes.
		}
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

// rulesOnDefinitions returns the rules that are needed to check, before the deletion of a definition, that there are no
// foreign instances.
func rulesOnDefinitions(objects []*unstructured.Unstructured) []Rule {
	var rules []Rule
	for _, object := range objects {
		if object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		group, _, _ := unstructured.NestedString(object.Object, "spec", "group")
		plural, _, _ := unstructured.NestedString(object.Object, "spec", "names", "plural")
		rules = append(rules, Rule{
			Comment: "Instances of " + plural + "." + group + ": the definition is not deleted while foreign instances exist.",
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
		Comment: "During the deletion of a definition, an admission policy refuses new instances.",
		PolicyRule: rbacv1.PolicyRule{
			APIGroups: []string{"admissionregistration.k8s.io"},
			Resources: []string{"validatingadmissionpolicies", "validatingadmissionpolicybindings"},
			Verbs:     []string{"get", "list", "create", "patch", "delete"},
		},
	})
}

// rulesToGrant returns the rules of roles among the dependents, because an operator may only grant rights that it has.
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
			Comment: "To bind " + kind + " " + name + ", which is not a dependent.",
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
	// An invalid role is ignored here, because the API server will refuse it with a message.
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

// hasDeletionHooks reports whether the objects contain hooks of the deletion, which the operator stores in a Secret.
func hasDeletionHooks(objects []*unstructured.Unstructured) bool {
	return slices.ContainsFunc(objects, func(object *unstructured.Unstructured) bool {
		return strings.Contains(object.GetAnnotations()["helm.sh/hook"], "-delete")
	})
}

// rulesOfFeatures returns the rules that the operator needs for the optional interfaces of the component type. If
// recordsPhases is set, it also returns a rule for the Secrets in which the operator stores the hooks of a deletion.
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
		add("Records of the objects that are applied during the deletion of a component.", "secrets", dependentVerbs...)
	}
	if f.Externals && !hasSecrets {
		add("Records of dependents outside Kubernetes, and the Secrets with their credentials.", "secrets", dependentVerbs...)
	}
	if f.KubeConfig && !hasSecrets {
		add("Kubeconfigs of components. A finalizer protects them as long as dependents exist.", "secrets", "get", "list",
			"watch", "patch")
	}
	if f.ServiceAccount {
		add("Service accounts of components, which the operator impersonates.", "serviceaccounts", "impersonate")
	}
	for _, kind := range f.Watched {
		resource, _ := meta.UnsafeGuessKindToResource(kind)
		rules = append(rules, Rule{Comment: "Objects whose changes start passes.", PolicyRule: rbacv1.PolicyRule{
			APIGroups: []string{kind.Group}, Resources: []string{resource.Resource}, Verbs: []string{"get", "list", "watch"},
		}})
	}
	if f.Placement {
		add("Target namespaces of components, which the operator creates if necessary.", "namespaces", "get", "create")
	}
	return rules
}

// Format returns rules as YAML, without rules that other rules cover.
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

// isCovered reports whether another rule covers rule i. If rules are equal, only the first is not covered.
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
